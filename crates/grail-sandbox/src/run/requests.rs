//! The host's answers, in the worker's protocol.

use std::time::{SystemTime, UNIX_EPOCH};

use monty_proto::pb;
use monty_proto::pb::ext_function_result::Kind as Answer;
use monty_proto::pb::parent_request::Kind as Request;
use monty_types::{ExcType, MontyDate, MontyDateTime, MontyException, MontyObject, OsFunctionCall};

use crate::files::FileAnswer;
use crate::tool::ToolError;

pub(super) fn call_value(id: u32, value: MontyObject) -> Request {
    resume(id, Answer::ReturnValue(value.into()))
}

pub(super) fn call_error(id: u32, error: &ToolError) -> Request {
    resume(id, Answer::Error((&exception(error)).into()))
}

/// The call is under way; the code may go on until it awaits it.
pub(super) fn future(id: u32) -> Request {
    resume(id, Answer::Future(id))
}

pub(super) fn file_answer(id: u32, answer: FileAnswer) -> Request {
    match answer {
        FileAnswer::Return(value) => call_value(id, value),
        FileAnswer::Raise(exception) => resume(id, Answer::Error((&exception).into())),
        FileAnswer::NotHandled => resume(id, Answer::NotHandled(pb::Unit {})),
    }
}

pub(super) fn future_value(id: u32, value: MontyObject) -> pb::FutureResult {
    future_result(id, Answer::ReturnValue(value.into()))
}

pub(super) fn future_error(id: u32, error: &ToolError) -> pb::FutureResult {
    future_result(id, Answer::Error((&exception(error)).into()))
}

pub(super) fn function_value(name: &str) -> Request {
    let function = MontyObject::Function { name: name.to_owned(), docstring: None };
    lookup(pb::resume_name_lookup::Kind::Value(function.into()))
}

pub(super) fn undefined() -> Request {
    lookup(pb::resume_name_lookup::Kind::Undefined(pb::Unit {}))
}

pub(super) fn lookup_error(error: &ToolError) -> Request {
    lookup(pb::resume_name_lookup::Kind::Error((&exception(error)).into()))
}

/// Ends the code where it stands; it cannot catch this.
pub(super) fn abort(reason: &str) -> Request {
    let exception = MontyException::new(ExcType::RuntimeError, Some(reason.to_owned()));
    Request::AbortFeed(pb::AbortFeed { exception: Some((&exception).into()) })
}

/// What needs no file: the clock, which is in UTC, and the environment, which is empty.
pub(super) fn clock_or_environment(call: &OsFunctionCall) -> Option<MontyObject> {
    match call {
        OsFunctionCall::Getenv(arguments) => Some(arguments.default.clone()),
        OsFunctionCall::GetEnviron => Some(MontyObject::dict(Vec::new())),
        OsFunctionCall::DateToday => {
            let (year, month, day) = civil_date(seconds_now().div_euclid(DAY));
            Some(MontyObject::Date(MontyDate { year, month, day }))
        }
        OsFunctionCall::DateTimeNow(zone) => {
            let offset = zone.as_ref().map(|zone| zone.offset_seconds);
            let seconds = seconds_now() + i64::from(offset.unwrap_or(0));
            let (year, month, day) = civil_date(seconds.div_euclid(DAY));
            let within = seconds.rem_euclid(DAY);
            let part = |value: i64| u8::try_from(value).unwrap_or(0);
            Some(MontyObject::DateTime(MontyDateTime {
                year,
                month,
                day,
                hour: part(within / 3600),
                minute: part(within / 60 % 60),
                second: part(within % 60),
                microsecond: since_epoch().subsec_micros(),
                offset_seconds: offset,
                timezone_name: zone.as_ref().and_then(|zone| zone.name.clone()),
            }))
        }
        _ => None,
    }
}

const DAY: i64 = 86_400;

fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn seconds_now() -> i64 {
    i64::try_from(since_epoch().as_secs()).unwrap_or(0)
}

/// Year, month and day of the Gregorian calendar, from days since 1970-01-01. Years begin in March here, so that the leap day is last.
fn civil_date(days: i64) -> (i32, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (i32::try_from(year).unwrap_or(1970), u8::try_from(month).unwrap_or(1), u8::try_from(day).unwrap_or(1))
}

fn resume(id: u32, answer: Answer) -> Request {
    Request::ResumeCall(pb::ResumeCall {
        call_id: id,
        result: Some(pb::ExtFunctionResult { kind: Some(answer) }),
    })
}

fn future_result(id: u32, answer: Answer) -> pb::FutureResult {
    pb::FutureResult { call_id: id, result: Some(pb::ExtFunctionResult { kind: Some(answer) }) }
}

fn lookup(kind: pb::resume_name_lookup::Kind) -> Request {
    Request::ResumeNameLookup(pb::ResumeNameLookup { kind: Some(kind) })
}

/// The exception that the code sees.
pub(super) fn as_sent(error: &ToolError) -> ToolError {
    let sent = exception(error);
    ToolError::new(sent.exc_type().to_string(), sent.message().unwrap_or_default())
}

/// A class that Python does not know becomes a `RuntimeError` that still says what it was.
fn exception(error: &ToolError) -> MontyException {
    match error.exception.parse::<ExcType>() {
        Ok(class) => MontyException::new(class, Some(error.message.clone())),
        Err(_) => MontyException::new(ExcType::RuntimeError, Some(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::civil_date;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(19_782), (2024, 2, 29));
        assert_eq!(civil_date(20_819), (2027, 1, 1));
        assert_eq!(civil_date(-1), (1969, 12, 31));
    }
}
