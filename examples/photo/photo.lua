-- A photo without its noise, and with its fine structure brought out.
--
--   heddle run photo.lua --in photo=photo.jpg --out photo=better.png
--              [--set levels=4] [--set noise=0.05] [--set detail=1.3]
--
-- The picture is split into what is left at ever coarser sizes and the details
-- between them, where edges stay whole: an edge-avoiding wavelet transform
-- (Dammertz and others, 2010; Hanika and others, 2011). Small details of the
-- finest sizes are noise and go; those of the coarser ones grow.

local levels = setting("levels", 4, { min = 1, max = 8 })
local noise  = setting("noise", 0.05, { min = 0, max = 1 }) -- its size, of 1
local detail = setting("detail", 1.3, { min = 0, max = 10 }) -- what they grow by
local noisy  = setting("noisy", 2, { min = 0, max = 8 }) -- levels that have noise

local photo = input("photo", "uchar4")
local w, h = photo.width, photo.height
local range = { global = { w, h } }

local function picture(name) return resource(name, "float4", w, h) end
local function kernel_of(name) return kernel("photo.cl", name) end

local open = pass {
    name = "open", read = { "photo" }, write = { "to" },
    run = function(p)
        dispatch(kernel_of("open_photo"), { p.photo, p.to }, range)
    end }

local smooth = pass {
    name = "smooth", read = { "from" }, write = { "to" },
    run = function(p)
        dispatch(kernel_of("smooth"), { p.from, p.to, p.apart, p.edge }, range)
    end }

local collect = pass {
    name = "collect", read = { "fine", "coarse", "sum" }, write = { "sum" },
    run = function(p)
        dispatch(kernel_of("collect"),
                 { p.fine, p.coarse, p.sum, p.least, p.by }, range)
    end }

local close = pass {
    name = "close", read = { "rest", "sum" }, write = { "photo" },
    run = function(p)
        dispatch(kernel_of("close_photo"), { p.rest, p.sum, p.photo }, range)
    end }

local sum = picture("details")
write(sum) clear(sum)
local fine = picture("size 0")
open { photo = photo, to = fine }
for level = 1, levels do
    local coarse = picture("size " .. level)
    local scale = 2.0 ^ (level - 1)
    smooth { from = fine, to = coarse, apart = 2 ^ (level - 1) // 1,
             edge = 3 * noise / scale + 0.02 }
    local gone = level <= noisy
    collect { fine = fine, coarse = coarse, sum = sum,
              least = gone and noise / scale or 0.0,
              by = gone and 1.0 or detail }
    fine = coarse
end
local better = resource("better", "uchar4", w, h)
close { rest = fine, sum = sum, photo = better }
output("photo", better)
