// Numbers, sizes and times as the reader's language writes them.

const ABSENT = "–";
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const sizes = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"].map(
  (unit) => new Intl.NumberFormat(undefined, { style: "unit", unit, unitDisplay: "short", maximumSignificantDigits: 3 }),
);
const units = Object.fromEntries(["millisecond", "second", "minute", "hour", "day"].map((unit) => [
  unit,
  new Intl.NumberFormat(undefined, { style: "unit", unit, unitDisplay: "short", maximumSignificantDigits: 3 }),
]));

const or = (format) => (x) => (x === null || x === undefined || Number.isNaN(x) ? ABSENT : format(x));

export const absent = ABSENT;
export const text = or(String);
export const count = or((n) => whole.format(n));
export const figure = or((n) => (Math.abs(n) >= 1000 ? whole.format(n) : short.format(n)));
export const rate = or((n) => `${figure(n)}/s`);
export const moment = or((iso) => day.format(new Date(iso)));

export const bytes = or((n) => {
  let unit = 0;
  for (; Math.abs(n) >= 1000 && unit < sizes.length - 1; unit += 1) n /= 1024;
  return sizes[unit].format(n);
});
export const kilobytes = or((n) => bytes(n * 1024));
export const byteRate = or((n) => `${bytes(n)}/s`);

export const milliseconds = or((n) => {
  if (n > 0 && n < 1) return `${short.format(n * 1000)} µs`;
  return n < 1000 ? units.millisecond.format(n) : seconds(n / 1000);
});
export const microseconds = or((n) => milliseconds(n / 1000));
export const seconds = or((n) => {
  if (n < 120) return units.second.format(n);
  if (n < 7200) return units.minute.format(Math.round(n / 60));
  return n < 172800 ? units.hour.format(Math.round(n / 3600)) : units.day.format(Math.round(n / 86400));
});

// SYNCHRONOUS_COMMIT → synchronous commit
export const words = or((word) => word.toLowerCase().replaceAll("_", " "));
