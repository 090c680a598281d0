# For LLVM's own lit: `lit -D bin=target/debug test/lit`. `cargo test --test lit` (test/lit.rs) runs the same files.
import os
import platform

import lit.formats

config.name = "aitmlir"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.available_features.update([platform.machine(), platform.system().lower()])
tools = [os.path.abspath(lit_config.params.get("bin", "target/debug")), "/usr/lib/llvm-22/bin"]
config.environment["PATH"] = os.pathsep.join(tools + [config.environment["PATH"]])
