// The switch of versions: versions.json, which tools/site_versions.py writes, has their names and
// their addresses relative to the root of the site that is shown.
document.addEventListener("DOMContentLoaded", async () => {
  const select = document.getElementById("versions");
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  if (!select || root.protocol === "file:") return; // a page that was opened as a file may load nothing
  const answer = await fetch(new URL("versions.json", root));
  if (!answer.ok) return;
  const options = (await answer.json()).map(
    ({ name, url }) => new Option(name, url, false, url === "./"),
  );
  select.replaceChildren(...options);
  select.addEventListener("change", async () => {
    const other = new URL(select.value, root);
    const same = new URL(location.href.slice(root.href.length), other);
    const found = await fetch(same, { method: "HEAD" });
    location.href = found.ok ? same : other;
  });
});
