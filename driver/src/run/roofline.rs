//! A roofline as SVG: what a run reaches of what the GPU's memory and its matrix units allow.

use std::fmt::Write as _;

use super::bench::Report;
use super::error::{Error, Result};

/// What a GPU can do at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Of its memory, in TB/s.
    pub tb_per_s: f64,
    /// Of its matrix units for f16, in TFLOP/s.
    pub tflop_per_s: f64,
}

/// GPUs by a part of their names: memory in TB/s, dense f16 matrix products in TFLOP/s, as their maker states them.
const GPUS: &[(&str, f64, f64)] = &[
    ("H200", 4.8, 989.4),
    ("H100 PCIe", 2.0, 756.4),
    ("H100 NVL", 3.9, 835.5),
    ("H100", 3.35, 989.4),
    ("A100-SXM4-40GB", 1.555, 312.0),
    ("A100", 2.039, 312.0),
];

/// The peaks of the device of that name, where the caller gives none.
pub fn peaks(device: &str, tb_per_s: Option<f64>, tflop_per_s: Option<f64>) -> Result<Peaks> {
    let known = GPUS.iter().find(|(name, ..)| device.contains(name));
    let choose = |given: Option<f64>, known: Option<f64>, option: &str| {
        let unknown = || Error::Argument(format!("the peaks of '{device}' are not known: give {option}"));
        given.or(known).filter(|peak| peak.is_finite() && *peak > 0.0).ok_or_else(unknown)
    };
    Ok(Peaks {
        tb_per_s: choose(tb_per_s, known.map(|row| row.1), "--peak-tbs")?,
        tflop_per_s: choose(tflop_per_s, known.map(|row| row.2), "--peak-tflops")?,
    })
}

/// Size of the picture and of its plot.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 50.0;
const PLOT: [f64; 2] = [600.0, 320.0];

/// A logarithmic axis over whole decades.
struct Axis {
    low: i32,
    high: i32,
    start: f64,
    length: f64,
}

impl Axis {
    fn over(low: f64, high: f64, start: f64, length: f64) -> Axis {
        let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        Axis { low, high: high.max(low + 1), start, length }
    }

    fn at(&self, value: f64) -> f64 {
        self.start + self.length * (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|exponent| 10f64.powi(exponent))
    }
}

/// The picture of a measured run. Errors: a run whose operations are not known.
pub fn svg(report: &Report, peaks: Peaks) -> Result<String> {
    let none =
        || Error::Argument("a roofline is of a model on a device with matrix products whose sizes are known".into());
    let device = report.device.as_ref().ok_or_else(none)?;
    let reached = device.tflop_per_s.filter(|t| *t > 0.0 && device.tb_per_s > 0.0).ok_or_else(none)?;
    // Operations a byte.
    let intensity = reached / device.tb_per_s;
    let roof = (peaks.tb_per_s * intensity).min(peaks.tflop_per_s);
    let ridge = peaks.tflop_per_s / peaks.tb_per_s;
    let x = Axis::over(intensity.min(ridge) / 4.0, intensity.max(ridge) * 4.0, LEFT, PLOT[0]);
    let y = Axis::over(reached.min(roof) / 4.0, peaks.tflop_per_s * 1.5, TOP + PLOT[1], -PLOT[1]);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = draw(&mut out, &Picture { report, peaks, intensity, reached, roof, ridge, x, y, name: &device.name });
    Ok(out)
}

struct Picture<'a> {
    report: &'a Report,
    peaks: Peaks,
    intensity: f64,
    reached: f64,
    roof: f64,
    ridge: f64,
    x: Axis,
    y: Axis,
    name: &'a str,
}

fn draw(out: &mut String, p: &Picture<'_>) -> std::fmt::Result {
    let (right, bottom) = (LEFT + PLOT[0], TOP + PLOT[1]);
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">"##
    )?;
    writeln!(out, r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>"##)?;
    let title = format!("{} on {}: {:.1} us", p.report.model, p.name, p.report.median_ms * 1e3);
    writeln!(out, r##"<text x="{LEFT}" y="28" font-size="15">{}</text>"##, escape(&title))?;
    for value in p.x.decades() {
        let at = p.x.at(value);
        writeln!(out, r##"<path d="M{at:.1} {TOP}V{bottom}" stroke="#ddd"/>"##)?;
        writeln!(out, r##"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{value}</text>"##, bottom + 18.0)?;
    }
    for value in p.y.decades() {
        let at = p.y.at(value);
        writeln!(out, r##"<path d="M{LEFT} {at:.1}H{right}" stroke="#ddd"/>"##)?;
        writeln!(out, r##"<text x="{:.1}" y="{:.1}" text-anchor="end">{value}</text>"##, LEFT - 8.0, at + 4.0)?;
    }
    let middle = LEFT + PLOT[0] / 2.0;
    writeln!(out, r##"<text x="{middle}" y="{:.1}" text-anchor="middle">operations a byte</text>"##, bottom + 38.0)?;
    let up = TOP + PLOT[1] / 2.0;
    writeln!(out, r##"<text x="22" y="{up}" text-anchor="middle" transform="rotate(-90 22 {up})">TFLOP/s</text>"##)?;
    // The roof: along the memory's line up to the ridge, then flat.
    let first = 10f64.powi(p.x.low).max(10f64.powi(p.y.low) / p.peaks.tb_per_s);
    let (x0, y0) = (p.x.at(first), p.y.at(first * p.peaks.tb_per_s));
    let (x1, y1) = (p.x.at(p.ridge), p.y.at(p.peaks.tflop_per_s));
    writeln!(
        out,
        r##"<path d="M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}H{right}" fill="none" stroke="#333" stroke-width="2"/>"##
    )?;
    let peak = format!("{} TFLOP/s", p.peaks.tflop_per_s);
    writeln!(out, r##"<text x="{:.1}" y="{:.1}" text-anchor="end">{peak}</text>"##, right - 4.0, y1 - 6.0)?;
    let (xm, ym) = ((x0 + x1) / 2.0, (y0 + y1) / 2.0);
    writeln!(
        out,
        r##"<text x="{:.1}" y="{:.1}" text-anchor="end">{} TB/s</text>"##,
        xm - 8.0,
        ym - 4.0,
        p.peaks.tb_per_s
    )?;
    // What was reached, and the roof over it.
    let (px, py, pr) = (p.x.at(p.intensity), p.y.at(p.reached), p.y.at(p.roof));
    writeln!(out, r##"<path d="M{px:.1} {py:.1}V{pr:.1}" stroke="#b33" stroke-dasharray="3 3"/>"##)?;
    writeln!(out, r##"<circle cx="{px:.1}" cy="{py:.1}" r="5" fill="#b33"/>"##)?;
    let share = 100.0 * p.reached / p.roof;
    let label = format!("{:.1} TFLOP/s, {share:.0} % of the roof", p.reached);
    let (anchor, lx) = if px > middle { ("end", px - 10.0) } else { ("start", px + 10.0) };
    writeln!(out, r##"<text x="{lx:.1}" y="{:.1}" text-anchor="{anchor}" fill="#b33">{label}</text>"##, py + 18.0)?;
    writeln!(out, "</svg>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::bench::DeviceReport;
    use super::*;

    fn report(tb_per_s: f64, tflop_per_s: Option<f64>) -> Report {
        let name = "cuda:0 (NVIDIA H200)".to_owned();
        Report {
            model: "a<b".into(),
            threads: 1,
            inputs: Vec::new(),
            warmup: 1,
            runs: 20,
            median_ms: 0.2,
            min_ms: 0.2,
            max_ms: 0.2,
            mean_ms: 0.2,
            device: Some(DeviceReport { name, copies: 2, graph: true, tb_per_s, tflop_per_s }),
        }
    }

    #[test]
    fn a_run_is_set_against_its_roof() {
        let known = peaks("cuda:0 (NVIDIA H200)", None, None).expect("a known GPU");
        assert_eq!(known, Peaks { tb_per_s: 4.8, tflop_per_s: 989.4 });
        // 100 operations a byte are below the ridge: the memory's line is the roof, at 480 TFLOP/s.
        let text = svg(&report(2.4, Some(240.0)), known).expect("a picture");
        assert!(text.contains("240.0 TFLOP/s, 50 % of the roof"), "{text}");
        assert!(text.contains("a&lt;b on cuda:0 (NVIDIA H200): 200.0 us"), "{text}");
        let text = svg(&report(0.5, Some(494.7)), known).expect("a picture");
        assert!(text.contains("494.7 TFLOP/s, 50 % of the roof"), "{text}");
    }

    #[test]
    fn what_is_not_known_is_asked_for() {
        let error = peaks("simulator", Some(1.0), None).expect_err("unknown").to_string();
        assert_eq!(error, "the peaks of 'simulator' are not known: give --peak-tflops");
        let known = peaks("simulator", Some(1.0), Some(2.0)).expect("given");
        assert!(svg(&report(1.0, None), known).is_err());
    }
}
