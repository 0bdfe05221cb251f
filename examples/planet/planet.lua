-- The Earth as a globe, lit by the sun, with a soft glow.
--
--   heddle run planet.lua --in map=earth.jpg --in night=night.jpg
--              --out image=planet.png [--set levels=5] ...
--
-- Pictures between passes are planes of floats: red, green, blue and, where
-- there is a fourth, how much of the pixel the globe covers.

local size      = setting("size", 1024, { min = 16, max = 16384 }) -- of the picture
local levels    = setting("levels", 5, { min = 0, max = 12 }) -- of the glow
local stars     = setting("stars", true)
local longitude = setting("longitude", 20.0) -- what faces us, in degrees
local latitude  = setting("latitude", 25.0)
local sun_east  = setting("sun_east", -58.0) -- of the point that faces us
local sun_north = setting("sun_north", 12.0)
local threshold = setting("threshold", 0.32) -- brighter parts glow
local strength  = setting("strength", 0.55)  -- of the glow
local exposure  = setting("exposure", 1.9)

local map   = input("map", "uchar4")
local night = input("night", "uchar4", { optional = true })

local radius = 0.41 * size -- of the globe, in pixels

-- On several nodes, pictures are fields: rows go to the nodes, with all planes of
-- a row on one. A node's rows are cut into blocks, which move and are computed
-- each by themselves.
local function sky(name, type, w, h, planes)
    if nodes() == 1 then return resource(name, type, w, h, planes) end
    local mine = (h + nodes() - 1) // nodes()
    local part = (mine + 15) // 16
    mine = (mine + part - 1) // part * part
    local tile = planes and planes .. "x%dx" .. w or "%dx" .. w
    local layout = string.format("tiles " .. tile .. " block memory " .. tile ..
                                 " tasks " .. tile, mine, part, part)
    if not planes then return field(name, type, w, h, layout) end
    return field(name, type, w, h, planes, layout)
end

-- Definitions ---------------------------------------------------------------

local project = pass {
    name = "project", read = { "map" }, write = { "to" },
    state = kernel("project.cl", "project"),
    run = function(p, state)
        local tilt = math.rad(latitude)
        dispatch(state, { p.map, p.map.width, p.map.height, p.to, size, radius,
                          longitude / 360, math.sin(tilt), math.cos(tilt) },
                 { global = { size, size } })
    end
}

local east, north = math.rad(sun_east), math.rad(sun_north)
local sun = { math.sin(east) * math.cos(north), math.sin(north),
              math.cos(east) * math.cos(north), 0 }

local light = pass {
    name = "light", read = { "surface" }, write = { "to" },
    state = kernel("light.cl", "light"),
    run = function(p, state)
        dispatch(state, { p.surface, p.to, size, radius, sun },
                 { global = { size, size } })
    end
}

local add_lights = pass {
    name = "city lights", read = { "lights", "to" }, write = { "to" },
    state = kernel("light.cl", "add_lights"),
    run = function(p, state)
        dispatch(state, { p.lights, p.to, size, radius, sun },
                 { global = { size, size } })
    end
}

local bright = pass {
    name = "bright", read = { "from" }, write = { "to" },
    state = kernel("blur.cl", "bright"),
    run = function(p, state)
        dispatch(state, { p.from, p.to, size, size, threshold },
                 { global = { size, size, 3 } })
    end
}

local halve = pass {
    name = "halve", read = { "from" }, write = { "to" },
    state = kernel("blur.cl", "halve"),
    run = function(p, state)
        local to = p.to
        dispatch(state, { p.from, p.from.width, p.from.height,
                            to, to.width, to.height },
                 { global = { to.width, to.height, 3 } })
    end
}

-- Work-groups have a fixed shape here; the range is rounded up to whole ones
-- and the kernels leave out what is outside.
local function whole(n, group)
    return (n + group - 1) // group * group
end

local function blur(name, group)
    return pass {
        name = name, read = { "from" }, write = { "to" },
        state = kernel("blur.cl", name),
        run = function(p, state)
            local w, h = p.from.width, p.from.height
            dispatch(state, { p.from, p.to, w, h },
                     { global = { whole(w, group[1]), whole(h, group[2]), 3 },
                       group = { group[1], group[2], 1 } })
        end
    }
end

local blur_rows    = blur("blur_rows", { 128, 1 })
local blur_columns = blur("blur_columns", { 64, 8 })

local widen = pass {
    name = "widen", read = { "fine", "coarse" }, write = { "to" },
    state = kernel("blur.cl", "widen"),
    run = function(p, state)
        local to = p.to
        dispatch(state, { p.fine, p.coarse, p.coarse.width, p.coarse.height,
                            to, to.width, to.height },
                 { global = { to.width, to.height, 3 } })
    end
}

local add_glow = pass {
    name = "glow", read = { "glow", "to" }, write = { "to" },
    state = kernel("finish.cl", "add_glow"),
    run = function(p, state)
        dispatch(state, { p.glow, p.to, size, size, strength / levels },
                 { global = { size, size, 3 } })
    end
}

local add_stars = pass {
    name = "stars", read = { "to" }, write = { "to" },
    state = kernel("finish.cl", "add_stars"),
    run = function(p, state)
        dispatch(state, { p.to, size, size }, { global = { size, size } })
    end
}

local tone = pass {
    name = "tone", read = { "from" }, write = { "to" },
    state = kernel("finish.cl", "tone"),
    run = function(p, state)
        dispatch(state, { p.from, p.to, size, size, exposure },
                 { global = { size, size } })
    end
}

-- The program ---------------------------------------------------------------

local surface = sky("surface", "float", size, size, 4)
local picture = sky("picture", "float", size, size, 4)
project { map = map, to = surface }
light { surface = surface, to = picture }

if night then
    local lights = sky("lights", "float", size, size, 4)
    project { name = "project night", map = night, to = lights }
    add_lights { lights = lights, to = picture }
end

if levels > 0 then
    local soft = {}
    local w = size
    for level = 1, levels do
        local from = sky("level " .. level, "float", w, w, 3)
        if level == 1 then
            bright { from = picture, to = from }
        else
            halve { from = soft[level - 1], to = from }
        end
        local rows = sky("rows " .. level, "float", w, w, 3)
        soft[level] = sky("soft " .. level, "float", w, w, 3)
        blur_rows { from = from, to = rows }
        blur_columns { from = rows, to = soft[level] }
        w = math.max(w // 2, 1)
    end
    local glow = soft[levels]
    for level = levels - 1, 1, -1 do
        local fine = soft[level]
        local wider = sky("glow " .. level, "float", fine.width, fine.height, 3)
        widen { fine = fine, coarse = glow, to = wider }
        glow = wider
    end
    add_glow { glow = glow, to = picture }
end

if stars then
    add_stars { to = picture }
end

local image = sky("image", "uchar4", size, size)
tone { from = picture, to = image }
output("image", image)
