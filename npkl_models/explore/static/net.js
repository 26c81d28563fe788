// Requests that carry the token, events of a job, and whether the server is there.

const token = "{{token}}";
const heard = { lost: () => {}, back: () => {} };

export function onServer(lost, back) { Object.assign(heard, { lost, back }); }

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
    heard.lost("stopped");
    throw new Error("The server does not answer: npkl explore has stopped.");
  }
  const text = await answer.text();
  if (answer.status === 403) {
    heard.lost("other");
    throw new Error(text.trim());
  }
  heard.back();
  if (!answer.ok) {
    let words = text;
    try { words = JSON.parse(text).error ?? text; } catch { /* plain text */ }
    throw new Error(words.trim());
  }
  return (answer.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : text;
}

// Calls back with each event of a job, from its first one on; resolves when the job has ended.
export function listen(key, told) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(address(`/api/jobs/${key}/events`));
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.kind === "end") { source.close(); resolve(); } else told(event);
    };
    source.onerror = () => {
      source.close();
      ask("/api/state").then(() => reject(new Error("The connection to npkl explore was lost.")), reject);
    };
  });
}
