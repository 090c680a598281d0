"""Bad input of every kind: each must end in one clear error, with no panic and nothing left behind."""
