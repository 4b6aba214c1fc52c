// SPDX-License-Identifier: Apache-2.0
/* The page: which record is shown, and what is about all of them. */

/* The text of an element of data: lines of base64 of what gzip has made of it. */
async function unpacked(script) {
	const bytes = Uint8Array.from(atob(script.textContent.replace(/\s/g, "")), (each) => each.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));

	return new Response(stream).text();
}

async function dataOf(script) {
	return JSON.parse(await unpacked(script));
}

/* [{ script, reading, text, type }] in the order of the file; data are read when they are shown. */
function recordsOf(root) {
	return Array.from(root.querySelectorAll("script.record"), (script) => {
		const next = script.nextElementSibling;
		const reading = next?.matches("script.reading") ? next : null;
		const text = (reading || script).nextElementSibling;

		return { script, reading, text: text?.matches("pre.text") ? text : null,
			 type: script.classList.item(1) };
	});
}

const SECTIONS = {
	sample: (data, reading, words) => sampleSections(data, reading, words),
	summary: summarySections,
	comparison: comparisonSections,
	triggers: triggersSections,
};

const TITLES = { summary: "All samples", comparison: "Comparison", triggers: "Triggers" };

/* The very lines that -o json writes. */
async function save(records, name) {
	const lines = await Promise.all(records.map((record) => unpacked(record.script)));
	const blob = new Blob(lines, { type: "application/json" });
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

function nameOf(sample) {
	return sample ? `${sample.capture ? textOf(sample.capture, "process") : "process"}-${sample.pid}` : "kernel_delay";
}

async function start() {
	const words = await dataOf(document.querySelector("script.words"));
	const records = recordsOf(document).filter((record) => record.type in SECTIONS);
	const content = el("div", { id: "content" }), menu = el("nav", { "aria-label": "Sections" });
	const texts = records.map((record) => record.text).filter(Boolean);

	async function show(record) {
		const data = await dataOf(record.script), reading = record.reading && await dataOf(record.reading);
		const sections = SECTIONS[record.type](data, reading, words).filter(Boolean);

		if (record.text)
			sections.push(sectionOf("text", "The report as text",
				el("details", {}, el("summary", {}, "Show the text"), record.text)));
		texts.forEach((other) => {
			other.hidden = other !== record.text;
		});
		content.replaceChildren(...sections);
		menu.replaceChildren(navigation(sections));
		return data;
	}

	if (!records.length)
		return;
	const name = nameOf(await show(records[0]));

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

await start();
