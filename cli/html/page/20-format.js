// SPDX-License-Identifier: Apache-2.0
/* Numbers and members of JSON as people read them. */

const UNITS = [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]];

/* Three digits and a unit, as in the text report: "584 ms", "12.8 ms", "65.4 us". */
function timeText(ns) {
	let i = 0;

	if (ns < 0)
		return `-${timeText(-ns)}`;
	while (i < 3 && Math.round(ns / UNITS[i][0]) >= 1000)
		i++;
	const [unit, name] = UNITS[i], value = ns / unit;

	if (unit === 1)
		return `${Math.round(value)} ns`;
	for (const [below, decimals] of [[10, 2], [100, 1]])
		if (Number(value.toFixed(decimals)) < below)
			return `${value.toFixed(decimals)} ${name}`;
	return `${value.toFixed(0)} ${name}`;
}

function shareText(part, whole) {
	const tenths = whole ? Math.min(9990, Math.round(part * 1000 / whole)) : 0;

	if (part && whole && !tenths)
		return "<0.1 %";
	return tenths >= 100 || !tenths ? `${Math.floor((tenths + 5) / 10)} %`
					: `${(tenths / 10).toFixed(1)} %`;
}

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });

function grouped(number) {
	return GROUPED.format(number);
}

/* Beyond 2^63 numbers are strings of digits. */
function numberOf(value) {
	return typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
}

/* What a member is, by its name: kernel_delay-json(5). */
const POINTS = /^(start|end|since|until|time|armed|disarmed|process_start)_ns$/;
const NAMES = /(^|_)(tid|pid|fd|number|inode|cpu|signal|other_net|vector|priority)$/;

function titleOf(key) {
	return key === "ns" ? "time" : key.replace("p99_9", "p99.9").replace(/_ns$/, "").replace(/_/g, " ");
}

function isNumeric(key, value) {
	return typeof value === "number" && !NAMES.test(key);
}

/* "main[4711]": who it is, of an object with a name or comm, and perhaps a tid. */
function whoText(who) {
	const key = "comm" in who ? "comm" : "name";
	const name = textOf(who, key) || ("tid" in who ? "thread" : "-");

	return "tid" in who ? `${name}[${who.tid}]` : name;
}

function wakersText(waker) {
	return waker.woken_by ? `${whoText(waker)}, woken by ${wakersText(waker.woken_by)}`
			      : whoText(waker);
}

function objectText(object) {
	if ("woken_by" in object)
		return wakersText(object);
	if ("name" in object || "comm" in object)
		return "mode" in object ? `${whoText(object)} (${object.mode})` : whoText(object);
	if ("number" in object)
		return `#${object.number}`;
	return Object.keys(object).filter((key) => typeof object[key] !== "object")
		.map((key) => `${titleOf(key)} ${memberText(object, key)}`).join(", ");
}

/* A member as text; start is the window's, which points in time are counted from. */
function memberText(object, key, start = 0) {
	const value = numberOf(object[key]);

	if (value === undefined || value === null)
		return "";
	if (typeof value === "boolean")
		return value ? "yes" : "no";
	if (typeof value === "object")
		return objectText(value);
	if (typeof value === "string")
		return textOf(object, key);
	if (POINTS.test(key))
		return `${grouped((value - start) / 1e6)} ms`;
	if (key.endsWith("_ns") || key === "ns")
		return timeText(value);
	if (key === "share")
		return shareText(value, 1);
	return NAMES.test(key) ? String(value) : grouped(value);
}
