//! What the server says it is. Clients choose their behaviour by these numbers: SQL Server 2022.

/// Product name in LOGINACK; tools compare it.
pub const PROGRAM: &str = "Microsoft SQL Server";
/// Major version.
pub const MAJOR: u8 = 16;
/// Minor version.
pub const MINOR: u8 = 0;
/// Build.
pub const BUILD: u16 = 1000;
