// SPDX-License-Identifier: Apache-2.0
/* Tables that are sorted by the buttons in their headers. */

/* What is beyond is shown when asked for: a page opens in an instant. */
const ROWS_AT_ONCE = 100;

function compare(a, b) {
	if (typeof a === "number" && typeof b === "number")
		return a - b;
	return String(a).localeCompare(String(b), "en", { numeric: true });
}

function sorted(rows, by, down) {
	const keyed = by ? rows.map((row) => ({ row, value: by.value(row) })) : [];

	keyed.sort((a, b) => (down ? -1 : 1) * compare(a.value, b.value));
	return by ? keyed.map(({ row }) => row) : rows;
}

function falls(column) {
	return Boolean(column?.numeric || column?.down);
}

/* A row's element, and what it shows when it is opened. */
function tableRow(row, columns, detail) {
	const cells = columns.map((column, i) =>
		el(i ? "td" : "th", { class: column.numeric ? "number" : null,
				      scope: i ? null : "row" }, column.cell(row)));
	const parts = { cells: [...cells], line: null, detail: null, isOpen: false };

	if (detail) {
		const button = el("button", { type: "button", class: "open", "aria-expanded": "false",
					      "aria-label": "details", onclick: () => {
			parts.isOpen = !parts.isOpen;
			button.setAttribute("aria-expanded", String(parts.isOpen));
			parts.detail ??= el("tr", { class: "detail" },
				el("td", { colspan: columns.length + 1 }, detail(row)));
			if (parts.isOpen)
				parts.line.after(parts.detail);
			else
				parts.detail.remove();
		} });

		cells.unshift(el("td", { class: "opener" }, button));
	}
	parts.line = el("tr", {}, cells);
	return parts;
}

/* columns: [{ key, title, numeric, down, changes, value(row), cell(row) }]; the value is what is
 * sorted by, numbers and what says down from the largest on. detail(row): what a row shows when it
 * is opened; undefined: rows are not. Returns the element, filter(wanted), to show only rows that
 * are wanted, and redraw(), for columns that have changed. */
function sortableTable({ caption, columns, rows, sort, detail, id, atOnce = ROWS_AT_ONCE }) {
	const made = new Map(), body = el("tbody");
	const status = el("p", { role: "status", class: "count" });
	const more = el("button", { type: "button", class: "more", onclick: () => {
		most = Infinity;
		draw();
	} });
	const heads = columns.map((column) =>
		el("th", { scope: "col", class: column.numeric ? "number" : null },
		   el("button", { type: "button", class: "sort", onclick: () => sortBy(column) },
		      column.title)));
	let by = columns.find((column) => column.key === sort), down = falls(by);
	let wanted = () => true, most = atOnce;

	function sortBy(column) {
		down = by === column ? !down : falls(column);
		by = column;
		draw();
	}

	function partsOf(row) {
		if (!made.has(row))
			made.set(row, tableRow(row, columns, detail));
		return made.get(row);
	}

	function draw() {
		const shown = sorted(rows.filter(wanted), by, down);

		heads.forEach((head, i) => {
			if (columns[i] === by)
				head.setAttribute("aria-sort", down ? "descending" : "ascending");
			else
				head.removeAttribute("aria-sort");
		});
		body.replaceChildren(...shown.slice(0, most).map(partsOf).flatMap((parts) =>
			(parts.isOpen ? [parts.line, parts.detail] : [parts.line])));
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
			for (const [row, { cells }] of made)
				columns.forEach((column, i) =>
					column.changes && cells[i].replaceChildren(column.cell(row)));
		},
	};
}
