// The look of the project that a link opens, and what the link may do: the application's name, logo and colour in place of ours.

import {askJson, isLink, portal} from './api.js';
import {byId, line, make} from './text.js';

/** The lightest of the dark backgrounds under texts, and the darkest of the light ones, as in viewer.css. */
const DARK = [0x18, 0x25, 0x3d];
const LIGHT = [0xea, 0xf1, 0xfe];
/** WCAG 2.2, success criterion 1.4.3. */
const CONTRAST = 4.5;
const STEPS = 64;

let asked = null;

/** The link's capabilities and look. Asked once for each link. */
const look = () => (asked ??= askJson('v1/look'));

export const mayStream = async () => (await look().catch(() => ({capabilities: []}))).capabilities.includes('streams');

// ---- The colour ----------------------------------------------------------------------------------------------------

const linear = (part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);

/** The relative luminance, as WCAG defines it. */
const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The nearest colour on the way to black (0) or white (255) that can be read on a background. */
function readable(colour, end, ground) {
  const mixed = (step) => colour.map((part) => Math.round(part + ((end - part) * step) / STEPS));
  let step = 0;
  while (step < STEPS && contrast(mixed(step), ground) < CONTRAST) {
    step++;
  }
  return `rgb(${mixed(step).join(' ')})`;
}

function showColour(text) {
  const style = document.documentElement.style;
  if (!/^#[0-9a-f]{6}$/.test(text ?? '')) {
    style.removeProperty('--accent');
    return;
  }
  const colour = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  style.setProperty('--accent', `light-dark(${readable(colour, 0, LIGHT)}, ${readable(colour, 255, DARK)})`);
}

// ---- The brand -----------------------------------------------------------------------------------------------------

/** Draws an image, so that it needs no address. */
async function logoOf(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const canvas = make('canvas', {class: 'logo', width: image.width, height: image.height, 'aria-hidden': 'true'});
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas;
}

/** Shows the look of a link's project, and hides what the link may not do. */
export async function showLook() {
  asked = null;
  if (!isLink) {
    return;
  }
  byId('share').hidden = true;
  const {name, colour, logo, capabilities} = await look().catch(() => ({capabilities: []}));
  byId('share').hidden = !capabilities.includes('export');
  showColour(colour);
  await showBrand(name, logo);
}

/** Shows the look on the page of a link's streams. */
export async function showStreamsLook() {
  const {name, colour, logo} = await look();
  showColour(colour);
  await showBrand(name, logo);
}

async function showBrand(name, logo) {
  // A picture that cannot be drawn is left out.
  const drawn = logo ? await logoOf(logo).catch(() => null) : null;
  if (name || drawn) {
    const text = line(name ?? '');
    document.title = text || document.title;
    // Beside a logo, a narrow page hides the span.
    const named = make('bdi', {}, text);
    document.querySelector('.brand').replaceChildren(...(drawn ? [drawn, make('span', {}, named)] : [named]));
  } else if (portal !== null) {
    document.title = 'Records';
  }
}
