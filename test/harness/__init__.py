"""What the Python suites share: the compiler as a subprocess, its libraries through the C ABI, and reports."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
REPORTS = TARGET / "report"
