"""Real models, compiled with their own dynamic dims, against ONNX Runtime: numbers and time."""
