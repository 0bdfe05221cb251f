-- Where heat goes: the temperature of a plate whose rim is kept at 0, by the
-- method of conjugate gradients.
--
--   heddle run plate.lua --in conductivity=k.npy --in source=b.npy
--              --out temperature=x.npy [--out residual=r.npy]
--              [--set tolerance=1e-5] [--set most=10000]
--
-- Both inputs are arrays of floats of one shape, made with NumPy for example.
-- The program looks at the residual every few steps, and builds on until it is
-- small: how many passes there are depends on the numbers.

local tolerance = setting("tolerance", 1e-5, { min = 1e-7, max = 1 })
local most      = setting("most", 10000, { min = 1, max = 1000000 }) -- steps
local every     = setting("every", 10, { min = 1, max = 1000 }) -- steps

local conductivity = input("conductivity", "float")
local source = input("source", "float")
local w, h = source.width, source.height
assert(conductivity.width == w and conductivity.height == h,
       "conductivity and source are not of one shape")

local GROUP = 256
local groups = (w * h + GROUP - 1) // GROUP
local all = { global = groups * GROUP, group = GROUP }
local one = { global = GROUP, group = GROUP }
local cells = w * h

local function field(name) return resource(name, "float", w, h) end
local x, r, p, q = field("x"), field("r"), field("p"), field("q")
local parts = resource("parts", "float", groups)
local sums = resource("sums", "float", 4) -- r.r, alpha, beta, r.r at the start

local function plate(name) return kernel("plate.cl", name) end

local begin = pass {
    name = "begin", read = { "b" }, write = { "x", "r", "p", "parts" },
    run = function(a)
        dispatch(plate("begin"), { a.b, a.x, a.r, a.p, a.parts, cells }, all)
    end }

local apply = pass {
    name = "apply", read = { "k", "p" }, write = { "q", "parts" },
    run = function(a)
        dispatch(plate("apply"), { a.k, a.p, a.q, a.parts, w, h }, all)
    end }

local total = pass {
    name = "total", read = { "parts", "sums" }, write = { "sums" },
    state = plate("total_start"),
    run = function(a, state)
        dispatch(state, { a.parts, groups, a.sums }, one)
    end }

local step = pass {
    name = "step", read = { "sums", "p", "q", "x", "r" },
    write = { "x", "r", "parts" },
    run = function(a)
        dispatch(plate("step"), { a.sums, a.p, a.q, a.x, a.r, a.parts, cells },
                 all)
    end }

local turn = pass {
    name = "turn", read = { "sums", "r", "p" }, write = { "p" },
    run = function(a)
        dispatch(plate("turn"), { a.sums, a.r, a.p, cells }, all)
    end }

write(sums) clear(sums)
begin { b = source, x = x, r = r, p = p, parts = parts }
total { parts = parts, sums = sums, state = plate("total_start") }

local steps = 0
repeat
    for i = 1, math.min(every, most - steps) do
        apply { k = conductivity, p = p, q = q, parts = parts }
        total { parts = parts, sums = sums, state = plate("total_alpha") }
        step { sums = sums, p = p, q = q, x = x, r = r, parts = parts }
        total { parts = parts, sums = sums, state = plate("total_beta") }
        turn { sums = sums, r = r, p = p }
        steps = steps + 1
    end
    local now = values(sums)
until now[1] <= tolerance * tolerance * now[4] or steps == most

output("temperature", x)
output("residual", sums)
