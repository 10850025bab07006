//! `sp_procoption`: which procedures run when the instance starts.

use super::{Outcome, ok, string};
use crate::errors;
use crate::run::{Argument, Runner};

/// `sp_procoption @ProcName, @OptionName, @OptionValue`: the one option is 'startup'.
pub(super) fn sp_procoption(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let missing = |name: &str| errors::parameter_missing("sp_procoption", name);
    let name = string(args, "procname", 0).ok_or_else(|| missing("@ProcName"))?;
    let option = string(args, "optionname", 1).ok_or_else(|| missing("@OptionName"))?;
    let value = string(args, "optionvalue", 2).ok_or_else(|| missing("@OptionValue"))?;
    let invalid = || errors::invalid_procedure_option("sys.sp_procoption");
    let on = match value.trim().to_ascii_lowercase().as_str() {
        "true" | "on" => true,
        "false" | "off" => false,
        _ => return Err(invalid().into()),
    };
    if !option.trim().eq_ignore_ascii_case("startup") {
        return Err(invalid().into());
    }
    runner.set_startup(&name, on)?;
    ok()
}
