// SPDX-License-Identifier: Apache-2.0
/* Elements. No other file makes any. Whatever is text becomes a text node: nothing of a capture is
 * ever read as markup, and the page's policy (page.html) refuses what would do so. */

const SVG = "http://www.w3.org/2000/svg";

/* Attributes: on* are listeners; false, null and undefined are none. */
function fill(element, attributes, children) {
	for (const [key, value] of Object.entries(attributes)) {
		if (value === false || value === null || value === undefined)
			continue;
		if (key.startsWith("on"))
			element.addEventListener(key.slice(2), value);
		else
			element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.flat(2).filter((child) => child || child === 0));
	return element;
}

function el(tag, attributes = {}, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
	return fill(document.createElementNS(SVG, tag), attributes, children);
}

/* A style of one element: by the object model, as the policy allows no style attributes. */
function styled(element, style) {
	Object.assign(element.style, style);
	return element;
}

const HIDDEN = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const LETTERS = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\" };

function byteText(byte) {
	return `\\x${byte.toString(16).padStart(2, "0")}`;
}

/* Foreign text as the text report has it: what has no glyph, or acts on the text around it, is
 * escaped. */
function escaped(text) {
	return String(text).replace(HIDDEN, (character) => LETTERS[character] ||
		Array.from(new TextEncoder().encode(character), byteText).join(""));
}

/* Bytes in hexadecimal that are not all UTF-8. */
function escapedBytes(hex) {
	const bytes = Uint8Array.from(hex.match(/../g) || [], (digits) => parseInt(digits, 16));
	const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
	let text = "";

	for (let i = 0, length; i < bytes.length; i += length || 1) {
		for (length = Math.min(4, bytes.length - i); length; length--) {
			try {
				const decoded = decoder.decode(bytes.subarray(i, i + length));

				if (Array.from(decoded).length !== 1)
					continue;
				text += escaped(decoded);
				break;
			} catch (error) {
				continue; // fewer bytes may be a character
			}
		}
		if (!length)
			text += byteText(bytes[i]);
	}
	return text;
}

/* The text of a member, which has another member beside it if it is not all UTF-8. */
function textOf(object, key) {
	const hex = object[`${key}_hex`];

	return hex ? escapedBytes(hex) : escaped(object[key] ?? "");
}

/* Escaped text in an element of its own, the direction of which has no effect outside. */
function isolated(text) {
	return el("bdi", {}, text);
}
