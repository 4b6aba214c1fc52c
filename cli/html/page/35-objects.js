// SPDX-License-Identifier: Apache-2.0
/* Any rows and objects of JSON: whatever members it may get, they are shown. context has the
 * window's start and the names in each stack. */

function isEmpty(value) {
	return value === undefined || value === null || value === 0 || value === "" ||
	       value === false || (Array.isArray(value) && !value.length);
}

const STACKS = { kernel_stack: "kernel stack", user_stack: "user stack" };

function frameText(frame) {
	const object = frame.object ? textOf(frame, "object").replace(/.*\//, "") : "";

	if (frame.function)
		return textOf(frame, "function");
	return object ? `${object}+${frame.address}` : "[unknown]";
}

/* Of each stack the names of its frames, from the innermost on: many rows have the same. */
function stackNames(stacks) {
	return stacks.map((stack) => (stack.frames || []).map(frameText));
}

function stackView(names) {
	return names?.length
		? el("details", { class: "stack" }, el("summary", {}, isolated(names[0])),
		     el("ol", {}, names.map((name) => el("li", {}, isolated(name))))) : "";
}

/* Members that some row has something in; not lists. */
function keysOf(rows) {
	const keys = new Set();

	for (const row of rows)
		for (const key in row)
			if (!keys.has(key) && !isEmpty(row[key]) && !Array.isArray(row[key]))
				keys.add(key);
	return [...keys].filter((key) => !key.endsWith("_hex"));
}

function columnOf(key, rows, context) {
	const isStack = key in STACKS;

	return {
		key,
		title: STACKS[key] || titleOf(key),
		numeric: !isStack && rows.some((row) => isNumeric(key, numberOf(row[key]))),
		value: (row) => (typeof row[key] === "object" ? memberText(row, key)
							       : numberOf(row[key]) ?? ""),
		cell: (row) => (isStack ? stackView(context.stacks[row[key]])
					: isolated(memberText(row, key, context.start))),
	};
}

const LISTED_AT_ONCE = 30; // rows of many columns

/* Any rows as a table; null if there are none. */
function rowsTable(caption, rows, context, sort) {
	const columns = rows?.length ? keysOf(rows).map((key) => columnOf(key, rows, context)) : [];

	return columns.length
		? sortableTable({ caption, columns, rows, sort, atOnce: LISTED_AT_ONCE }).element : null;
}

function isObject(value) {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/* Of figures alone; those with buckets have them drawn in a section of their own. */
function isScalars(value) {
	return isObject(value) && Object.entries(value).every(([key, each]) =>
		typeof each !== "object" || key === "buckets");
}

function membersView(object, keys, context) {
	return keys.length ? el("dl", {}, keys.map((key) => el("div", {},
		el("dt", {}, titleOf(key)),
		el("dd", {}, isolated(memberText(object, key, context.start)))))) : null;
}

function listView(key, list, context) {
	if (isObject(list[0]))
		return rowsTable(titleOf(key), list, context);
	return el("p", {}, `${titleOf(key)}: ${list.map(escaped).join(", ")}`);
}

/* An object: its members; those that are objects of figures, in one table; the others, each in one
 * of its own. titles has words for their keys. */
function objectView(object, context, { skip = [], titles = {} } = {}) {
	const keys = Object.keys(object).filter((key) => !skip.includes(key) &&
						!key.endsWith("_hex") && !isEmpty(object[key]));
	const row = ([key, values]) => ({ what: titles[key] || titleOf(key), ...values });
	const isUsed = (values) => Object.values(values).some((value) => !isEmpty(value));
	const figures = keys.filter((key) => isScalars(object[key]));
	const partView = (key) => {
		const value = object[key], parts = Object.entries(value);

		if (Array.isArray(value))
			return listView(key, value, context);
		if (parts.every(([, part]) => isObject(part)))
			return rowsTable(titleOf(key), parts.map(row), context);
		return el("div", {}, el("h3", {}, titleOf(key)), objectView(value, context, { titles }));
	};

	return [
		membersView(object, keys.filter((key) => typeof object[key] !== "object"), context),
		rowsTable("figures", figures.filter((key) => isUsed(object[key]))
			.map((key) => row([key, object[key]])), context),
		keys.filter((key) => typeof object[key] === "object" && !figures.includes(key))
			.map(partView),
	];
}
