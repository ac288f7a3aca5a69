use std::process::ExitCode;

fn main() -> ExitCode {
    rookery::main()
}
