-- Heat that spreads in a plate, with a picture every so many steps. The plate is
-- a field: on one machine it lies there, and started by mpirun on all of its
-- processes, each of which computes its part:
--
--   heddle run heat.lua --out end=end.png
--   mpirun -n 4 heddle run heat.lua --set every=100 --out 1=a.png --out end=b.png

local width = setting("width", 640, {min = 8})
local height = setting("height", 480, {min = 8})
local steps = setting("steps", 400, {min = 1})
local every = setting("every", 0, {min = 0})
local layout = setting("layout", "")

local function plate(name, type)
  if layout == "" then
    return field(name, type, width, height)
  end
  return field(name, type, width, height, layout)
end

local ignite = pass {
  name = "ignite", overwrite = {"plate"},
  run = function(p) forall(kernel("heat.cl", "ignite"), {p.plate}) end
}

local spread = pass {
  name = "spread", read = {"from"}, overwrite = {"to"},
  run = function(p)
    forall(kernel("heat.cl", "spread"), {p.from, p.to, p.rate})
  end
}

local paint = pass {
  name = "paint", read = {"plate"}, overwrite = {"pixels"},
  run = function(p)
    forall(kernel("heat.cl", "paint"), {p.plate, p.pixels})
  end
}

local function picture(name, from)
  local pixels = plate(name, "uchar4")
  paint {plate = from, pixels = pixels, name = "paint " .. name}
  output(name, pixels)
end

local from, to = plate("plate", "float"), plate("next plate", "float")
ignite {plate = from}
for step = 1, steps do
  spread {from = from, to = to, rate = 0.2}
  from, to = to, from
  if every > 0 and step % every == 0 and step < steps then
    picture(string.format("%d", step // every), from)
  end
end
picture("end", from)
