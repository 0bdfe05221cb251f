-- The edges in a photo, as Canny finds them: where the brightness changes most,
-- and further along as long as there is a weaker edge.
--
--   heddle run edges.lua --in photo=photo.jpg --out edges=edges.png
--              [--set low=60] [--set high=160]
--
-- How far edges go on is known only when they have been followed: the program
-- looks after every few passes whether they still grew, and builds on if so.

local low  = setting("low", 60, { min = 1, max = 2040 })
local high = setting("high", 160, { min = 1, max = 2040 })
local at_a_time = setting("passes", 8, { min = 1, max = 1000 })

local photo = input("photo", "uchar4")
local w, h = photo.width, photo.height
local range = { global = { w, h } }

local function edges(name) return kernel("edges.cl", name) end
local function plane(name) return resource(name, "uchar", w, h) end

-- One kernel over the picture, from one resource to another.
local function filter(name, ...)
    local more = { ... }
    return pass {
        name = name, read = { "from" }, write = { "to" },
        run = function(p)
            dispatch(edges(name), { p.from, p.to, table.unpack(more) }, range)
        end }
end

local bright, rows, soft = plane("bright"), plane("rows"), plane("soft")
local slope = resource("slope", "short2", w, h)
local marks = { plane("marks"), plane("more marks") }
filter("grey") { from = photo, to = bright }
filter("blur_rows") { from = bright, to = rows }
filter("blur_columns") { from = rows, to = soft }
filter("gradient") { from = soft, to = slope }
filter("thin", low, high) { from = slope, to = marks[1] }

local grow = pass {
    name = "grow", read = { "from", "changed" }, write = { "to", "changed" },
    run = function(p)
        dispatch(edges("grow"), { p.from, p.to, p.changed }, range)
    end }

local changed = resource("changed", "uint", 1)
local now = 1
repeat
    write(changed) clear(changed)
    for i = 1, at_a_time do
        grow { from = marks[now], to = marks[3 - now], changed = changed }
        now = 3 - now
    end
until values(changed)[1] == 0

local picture = resource("picture", "uchar4", w, h)
filter("show") { from = marks[now], to = picture }
output("edges", picture)
