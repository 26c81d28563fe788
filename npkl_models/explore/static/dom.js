// Small helpers: elements, numbers in words, and requests that carry the token.

export const token = "{{token}}";
export const $ = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function number(value, digits = 6) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
}

export function address(path, given = {}) {
  return `${path}?${new URLSearchParams({ ...given, token })}`;
}

export async function ask(path, body = undefined, given = {}) {
  const binary = body instanceof Blob;
  const how = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": binary ? "application/octet-stream" : "application/json" },
    body: binary ? body : JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(address(path, given), how);
  } catch {
    throw new Error("the server does not answer: is npkl explore still running?");
  }
  const text = await answer.text();
  if (!answer.ok) {
    let words = text;
    try { words = JSON.parse(text).error ?? text; } catch { /* plain text */ }
    throw new Error(words.trim());
  }
  return (answer.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : text;
}

// Calls back with each event of a job; resolves when it has ended.
export function listen(key, heard) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(address(`/api/jobs/${key}/events`));
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.kind === "end") { source.close(); resolve(); } else heard(event);
    };
    source.onerror = () => { source.close(); reject(new Error("the connection to npkl explore was lost")); };
  });
}
