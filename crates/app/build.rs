//! Links the program with its own copy of the unwinder on Linux.
//!
//! A command's time is mostly its process's start, and every shared library costs a tenth of a millisecond of it. So the
//! one besides libc is linked in where the compiler has it as an archive.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && has_static_unwinder()
    {
        println!(
            "cargo:rustc-link-arg-bins=-Wl,--push-state,--whole-archive,-l:libgcc_eh.a,--pop-state"
        );
    }
}

/// Whether the C compiler brings the unwinder as an archive: gcc does, clang on its own does not.
fn has_static_unwinder() -> bool {
    let asked = std::process::Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    asked.is_ok_and(|said| {
        std::path::Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute()
    })
}
