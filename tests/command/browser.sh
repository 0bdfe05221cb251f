# The page of heddle report in a browser: a script in it clicks and reads.
. "$(dirname "$0")/common.sh"
needs_lua

for name in chromium chromium-browser google-chrome; do
    browser=$(command -v $name) && break
done
[ -n "$browser" ] || skip "no Chromium is installed"
show() {
    HOME=$folder timeout 120 "$browser" --headless --no-sandbox --disable-gpu \
        --user-data-dir="$folder/profile" --dump-dom "file://$1" \
        2>"$folder/browser.log"
}
echo '<p id=a></p><script>a.textContent = 6 * 7</script>' >try.html
show "$folder/try.html" | grep -q '>42<' || {
    tail -n 3 "$folder/browser.log"
    skip "Chromium does not run here"
}

cat >p.lua <<'END'
local a = resource("a", "float", 65536)
local b = resource("b", "float", 65536)
local make = pass {name = "make", write = {"to"}, run = function(p) fill(p.to, 1) end}
local step = pass {name = "step", read = {"from"}, write = {"to"},
                   run = function(p) copy(p.from, p.to) end}
make {to = a}
step {from = a, to = b, name = "</script> & <b>"}
output("b", b)
END
expect 0 '*' "$HEDDLE" run p.lua --workers 2 --report page.html

# What the script finds goes into the title; an error of the page, too.
python=$(command -v python3) || skip "no python3 to add a script to the page"
cat >add.py <<'END'
text = open("page.html").read()
watch = '<script>window.onerror = text => { document.body.dataset.error = text; };</script>'
script = """<script>
const found = [], all = kind => [...document.querySelectorAll(kind)];
const click = e => e.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const detail = () => document.getElementById("detail").textContent.split("\\n");
const cell = (row, n) => all("#passes tbody tr")[row].children[n].textContent;
found.push("rows", all("#passes tbody tr").length);
found.push("boxes", all("#timeline rect.pass").length);
found.push("nodes", all("#graph g.pass").length, "edges", all("#graph path").length);
found.push("heap", all("#memory path").length);
click(all("#passes tbody tr")[1]);
found.push("row", detail()[0].slice(0, 24), detail().includes("after   make"));
found.push("chosen", all("[data-pass='1'].chosen").length >= 3, all("[data-pass='0'].chosen").length);
click(all("#graph g.pass")[0]);
found.push("node", detail()[0].slice(0, 12), all("#passes tr.chosen").length);
click(all("#timeline rect.pass[data-pass='1']")[0]);
found.push("box", detail()[0].slice(0, 7));
click(all("#passes th")[0]);
found.push("down", cell(0, 0), cell(1, 0));
click(all("#passes th")[1]);
found.push("names", cell(0, 1), cell(1, 1));
const before = to - from;
timeline.dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: 200}));
found.push("zoom", to - from < before);
document.body.dataset.found = JSON.stringify(found);
</script></body>"""
text = text.replace("<body>", "<body>" + watch, 1).replace("</body>", script, 1)
open("clicked.html", "w").write(text)
END
"$python" add.py
show "$folder/clicked.html" >dom.html || skip "Chromium does not end here"
cat >read.py <<'END'
import html, json, re
text = open("dom.html").read()
error = re.search(r'<body[^>]* data-error="([^"]*)"', text)
assert not error, html.unescape(error.group(1))
found = json.loads(html.unescape(
    re.search(r'<body[^>]* data-found="([^"]*)"', text).group(1)))
expected = ["rows", 2, "boxes", 2, "nodes", 2, "edges", 1, "heap", 1,
            "row", "pass 2: </script> & <b> ", True, "chosen", True, 0,
            "node", "pass 1: make", 1, "box", "pass 2:", "down", "2", "1",
            "names", "</script> & <b>", "make", "zoom", True]
assert found == expected, found
END
"$python" read.py || fail "the page shows something else"
