// SPDX-License-Identifier: Apache-2.0
/* The page: which record is shown, and what is about all of them. */

/* [{ script, reading, text, type }] in the order of the file; JSON is parsed when it is shown. */
function recordsOf(root) {
	return Array.from(root.querySelectorAll("script.record"), (script) => {
		const next = script.nextElementSibling;
		const reading = next?.matches("script.reading") ? next : null;
		const text = (reading || script).nextElementSibling;

		return { script, reading, text: text?.matches("pre.text") ? text : null,
			 type: /"type":"(\w+)"/.exec(script.textContent.slice(0, 200))?.[1] };
	});
}

const SECTIONS = {
	sample: (record, words) => sampleSections(JSON.parse(record.script.textContent),
						  JSON.parse(record.reading.textContent), words),
	summary: (record) => summarySections(JSON.parse(record.script.textContent)),
	comparison: (record) => comparisonSections(JSON.parse(record.script.textContent)),
	triggers: (record) => triggersSections(JSON.parse(record.script.textContent)),
};

const TITLES = { summary: "All samples", comparison: "Comparison", triggers: "Triggers" };

/* The very lines that -o json writes, but for '<', which is \u003c in a page. */
function save(records, name) {
	const blob = new Blob(records.map((record) => record.script.textContent), { type: "application/json" });
	const link = el("a", { href: URL.createObjectURL(blob), download: `${name}.json` });

	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function switchTheme() {
	const dark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
		(getComputedStyle(document.documentElement).colorScheme !== "light" &&
		 matchMedia("(prefers-color-scheme: dark)").matches);

	document.documentElement.style.colorScheme = dark ? "light" : "dark";
	document.querySelectorAll(".timeline").forEach((box) => box.redraw());
}

function pickerOf(records, show) {
	let sample = 0;

	return el("select", { id: "record", onchange: (event) => show(records[event.target.value]) },
		records.map((record, i) => el("option", { value: i },
			TITLES[record.type] || `Sample ${++sample}`)));
}

function navigation(sections) {
	return el("ul", {}, sections.filter((section) => section.id).map((section) =>
		el("li", {}, el("a", { href: `#${section.id}` }, section.querySelector("h2").textContent))));
}

/* For paper, all that is folded is shown. */
function printWhole() {
	addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])")
		.forEach((details) => {
			details.open = true;
			details.classList.add("for-print");
		}));
	addEventListener("afterprint", () => document.querySelectorAll("details.for-print")
		.forEach((details) => {
			details.open = false;
			details.classList.remove("for-print");
		}));
}

function nameOf(records) {
	const first = records.find((record) => record.type === "sample");
	const sample = first && JSON.parse(first.script.textContent);

	return sample ? `${sample.capture ? textOf(sample.capture, "process") : "process"}-${sample.pid}` : "kernel_delay";
}

function start() {
	const words = JSON.parse(document.querySelector("script.words").textContent);
	const records = recordsOf(document).filter((record) => record.type in SECTIONS);
	const content = el("div", { id: "content" }), menu = el("nav", { "aria-label": "Sections" });
	const name = records.length ? nameOf(records) : "kernel_delay";
	const texts = records.map((record) => record.text).filter(Boolean);

	function show(record) {
		const sections = SECTIONS[record.type](record, words).filter(Boolean);
		const text = record.text && sectionOf("text", "The report as text",
			el("details", {}, el("summary", {}, "Show the text"), record.text));

		texts.forEach((other) => {
			other.hidden = other !== record.text;
		});
		content.replaceChildren(...sections, ...(text ? [text] : []));
		menu.replaceChildren(navigation([...sections, ...(text ? [text] : [])]));
	}

	if (!records.length)
		return;
	show(records[0]);
	document.title = `${name}: kernel_delay`;
	document.body.prepend(
		el("a", { class: "skip", href: "#content" }, "Skip to the report"),
		el("header", {}, el("h1", {}, "kernel_delay"),
		   records.length > 1 && el("label", { for: "record" }, "Show ", pickerOf(records, show)),
		   el("button", { type: "button", id: "save", onclick: () => save(records, name) }, "Save the JSON"),
		   el("button", { type: "button", id: "theme", onclick: switchTheme }, "Light or dark")),
		menu, el("main", {}, content));
	printWhole();
}

start();
