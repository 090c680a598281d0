//! The command: exit status, findings with their source line, counters, the heat map, errors that name line and opcode.

use std::path::PathBuf;
use std::process::{Command, Output};

const KERNEL: &str = "
.version 8.6
.target sm_90a
.address_size 64
.file 1 \"k.cu\"
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<3>;
.reg .b64 %rd<4>;
.shared .align 4 .b8 sm[8192];
ld.param.b64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
shl.b32 %r2, %r1, 3;
st.shared.b32 [%r2], %r1;
.loc 1 7 3
st.global.b32 [%rd3], %r1;
ret;
}
";

fn ptx_sim(text: &str, name: &str, args: &[&str]) -> Output {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text).expect("can write");
    Command::new(env!("CARGO_BIN_EXE_ptx-sim")).arg(&file).args(args).output().expect("runs")
}

#[test]
fn a_clean_kernel_is_counted_and_dumped() {
    let tmp = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (svg, dump) = (tmp.join("k.svg"), tmp.join("k.bin"));
    let (svg_arg, dump_arg) = (svg.display().to_string(), format!("0={}", dump.display()));
    let args = ["--arg", "out:128", "--counters", "--svg", &svg_arg, "--dump", &dump_arg];
    let out = ptx_sim(KERNEL, "clean.ptx", &args);
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{text}");
    assert!(text.contains("k: 0 findings") && text.contains("(2.00-way)"), "{text}");
    assert_eq!(std::fs::read(dump).expect("dumped")[4..8], [1, 0, 0, 0]);
    assert!(std::fs::read_to_string(svg).expect("written").starts_with("<svg"));
}

#[test]
fn a_finding_names_its_source_line() {
    let out = ptx_sim(KERNEL, "faulty.ptx", &["--arg", "out:64"]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("out-of-bounds: k line 18 `st.global.b32` (k.cu:7), cta (0,0,0) thread (16,0,0)"), "{text}");
}

#[test]
fn errors_name_line_and_opcode() {
    let text = KERNEL.replace("shl.b32 %r2, %r1, 3;", "tex.2d.v4.f32.s32 %r2, %r1;");
    let out = ptx_sim(&text, "unsupported.ptx", &["--arg", "out:128"]);
    assert_eq!(out.status.code(), Some(2));
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(error.contains("line 15: `tex.2d.v4.f32.s32` is not supported"), "{error}");
}

#[test]
fn wrong_arguments_are_explained() {
    for (args, what) in [
        (vec!["--arg", "out:128", "--check", "race"], "no check is named `race`"),
        (vec!["--arg", "banana"], "argument `banana` is none of"),
        (vec![], "0 arguments of 1"),
        (vec!["--arg", "out:128", "--block", "2048"], "at most 1024"),
    ] {
        let out = ptx_sim(KERNEL, &format!("args{}.ptx", what.len()), &args);
        assert_eq!(out.status.code(), Some(2));
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(error.contains(what), "{error}");
    }
}

/// What no device could start is refused with one line that names the limit.
#[test]
fn launches_beyond_the_limits_are_refused() {
    let cases: [(&[&str], &str); 4] = [
        (&["--shared", "240000"], "248192 bytes of shared memory; at most 232448 are possible"),
        (&["--block", "32,64"], "2048 threads a CTA; at most 1024 are possible"),
        (&["--grid", "3", "--cluster", "2"], "clusters of [2, 1, 1] do not divide the grid [3, 1, 1]"),
        (&["--grid", "0"], "has no threads"),
    ];
    for (args, says) in cases {
        let out = ptx_sim(KERNEL, "limits.ptx", &[&["--arg", "out:128"], args].concat());
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(text.contains(says), "{text}");
    }
}
