// SPDX-License-Identifier: Apache-2.0
/* Tables that are sorted by the buttons in their headers, of any rows of JSON. */

const ROWS_AT_ONCE = 100; // what is beyond is shown when asked for: a page opens in an instant

function compare(a, b) {
	if (typeof a === "number" && typeof b === "number")
		return a - b;
	return String(a).localeCompare(String(b), "en", { numeric: true });
}

/* columns: [{ key, title, numeric, value(row), cell(row) }]; the value is what is sorted by.
 * detail(row): what a row shows when it is opened; undefined: rows are not. Returns the element,
 * and filter(wanted), to show only rows that are wanted, and redraw(), after cells would be
 * others. */
function sortableTable({ caption, columns, rows, sort, detail, id }) {
	const elements = new Map(), body = el("tbody"), status = el("p", { role: "status", class: "count" });
	const more = el("button", { type: "button", class: "more", onclick: () => {
		most = Infinity;
		draw();
	} });
	const heads = columns.map((column) => el("th", { scope: "col",
							 class: column.numeric ? "number" : null },
		el("button", { type: "button", class: "sort", onclick: () => sortBy(column) },
		   column.title)));
	let by = columns.find((column) => column.key === sort), down = Boolean(by?.numeric);
	let wanted = () => true, most = ROWS_AT_ONCE;

	function sortBy(column) {
		down = by === column ? !down : Boolean(column.numeric);
		by = column;
		draw();
	}

	function open(row, parts) {
		const isOpen = parts.button.getAttribute("aria-expanded") === "true";

		parts.button.setAttribute("aria-expanded", String(!isOpen));
		if (!parts.detail)
			parts.detail = el("tr", { class: "detail" },
				el("td", { colspan: columns.length + 1 }, detail(row)));
		if (isOpen)
			parts.detail.remove();
		else
			parts.line.after(parts.detail);
	}

	function make(row) {
		const parts = {}, cells = columns.map((column, i) =>
			el(i ? "td" : "th", { class: column.numeric ? "number" : null,
					      scope: i ? null : "row" }, column.cell(row)));

		if (detail) {
			parts.button = el("button", { type: "button", class: "open",
						      "aria-expanded": "false",
						      "aria-label": "details",
						      onclick: () => open(row, parts) });
			cells.unshift(el("td", { class: "opener" }, parts.button));
		}
		parts.line = el("tr", {}, cells);
		return parts;
	}

	function draw() {
		const shown = rows.filter(wanted), lines = [];

		if (by)
			shown.sort((a, b) => (down ? -1 : 1) * compare(by.value(a), by.value(b)));
		heads.forEach((head, i) => {
			if (columns[i] === by)
				head.setAttribute("aria-sort", down ? "descending" : "ascending");
			else
				head.removeAttribute("aria-sort");
		});
		for (const row of shown.slice(0, most)) {
			if (!elements.has(row))
				elements.set(row, make(row));
			const parts = elements.get(row);

			lines.push(parts.line);
			if (parts.button?.getAttribute("aria-expanded") === "true")
				lines.push(parts.detail);
		}
		body.replaceChildren(...lines);
		more.hidden = shown.length <= most;
		more.textContent = `Show all ${grouped(shown.length)} rows`;
		status.textContent = shown.length < rows.length
			? `${grouped(shown.length)} of ${grouped(rows.length)} rows` : "";
	}

	draw();
	return {
		element: el("div", { class: "scroll", id },
			el("table", {}, caption && el("caption", {}, caption),
			   el("thead", {}, el("tr", {}, detail && el("td"), heads)), body),
			more, status),
		filter(which) {
			wanted = which;
			draw();
		},
		redraw() {
			elements.clear();
			draw();
		},
	};
}

/* Whether a column tells anything. */
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

function stackView(stack) {
	const frames = stack?.frames || [];

	return frames.length ? el("details", { class: "stack" },
		el("summary", {}, isolated(frameText(frames[0]))),
		el("ol", {}, frames.map((frame) => el("li", {}, isolated(frameText(frame)))))) : "";
}

/* A column for each member that some row has something in. */
function columnsOf(rows, context) {
	const keys = new Set(rows.flatMap((row) => Object.keys(row)));

	return [...keys].filter((key) => !key.endsWith("_hex") && !Array.isArray(rows.find((row) => key in row)[key]) &&
					 rows.some((row) => !isEmpty(row[key])))
		.map((key) => ({
			key,
			title: STACKS[key] || titleOf(key),
			numeric: rows.some((row) => isNumeric(key, numberOf(row[key]))) && !(key in STACKS),
			value: (row) => (typeof row[key] === "object" ? memberText(row, key)
								       : numberOf(row[key]) ?? ""),
			cell: (row) => (key in STACKS ? stackView(context.stacks[row[key]])
						       : isolated(memberText(row, key, context.start))),
		}));
}

/* Any rows of JSON as a table; nothing if there are none. */
function rowsTable(caption, rows, context, sort) {
	const columns = rows?.length ? columnsOf(rows, context) : [];

	return columns.length ? sortableTable({ caption, columns, rows, sort }).element : null;
}

function isScalars(object) {
	return Object.values(object).every((value) => typeof value !== "object");
}

/* Any object of JSON: its members, then tables of what it has lists and objects of. titles has
 * words for keys of objects in it. */
function objectView(object, context, { skip = [], titles = {} } = {}) {
	const members = Object.entries(object).filter(([key, value]) =>
		!skip.includes(key) && !key.endsWith("_hex") && !isEmpty(value));
	const scalars = members.filter(([, value]) => typeof value !== "object");
	const plain = members.filter(([, value]) => typeof value === "object" &&
				     !Array.isArray(value) && isScalars(value));
	const other = members.filter(([key, value]) => typeof value === "object" &&
				     !plain.some(([known]) => known === key));
	const row = ([what, values]) => ({ what: titles[what] || titleOf(what), ...values });
	const used = ([, values]) => Object.values(values).some((value) => !isEmpty(value));

	return [
		scalars.length && el("dl", {}, scalars.map(([key]) => el("div", {},
			el("dt", {}, titleOf(key)),
			el("dd", {}, isolated(memberText(object, key, context.start)))))),
		rowsTable("figures", plain.filter(used).map(row), context),
		other.map(([key, value]) => {
			if (!Array.isArray(value)) {
				const parts = Object.entries(value);

				return parts.every(([, part]) => typeof part === "object" && !Array.isArray(part))
					? rowsTable(titleOf(key), parts.map(row), context)
					: el("div", {}, el("h4", {}, titleOf(key)), objectView(value, context, { titles }));
			}
			return typeof value[0] === "object" ? rowsTable(titleOf(key), value, context)
				: el("p", {}, `${titleOf(key)}: ${value.map(escaped).join(", ")}`);
		}),
	];
}
