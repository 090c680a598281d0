"""The official ONNX backend suite, compiled by aitmlir-compile and run through the C ABI."""
