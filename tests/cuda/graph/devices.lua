-- Passes on both devices, of which some name one.
local n = setting("n", 4096)

local function pass_of(name, device)
    return pass {
        name = name, device = device, read = { "from" }, write = { "to" },
        run = function(p)
            dispatch(kernel("devices.cl", "step"), { p.to, p.from },
                     { global = { n }, group = { 32 } })
        end }
end

local at = resource("start", "int", n)
pass { write = { "to" }, run = function(p) fill(p.to, 7) end } { to = at }
for _, device in ipairs { "gpu", "cpu", "any", "gpu", "any" } do
    local to = resource(device, "int", n)
    pass_of("on " .. device, device ~= "any" and device or nil) { from = at, to = to }
    at = to
end
local copied = resource("copied", "int", n)
pass { read = { "from" }, write = { "to" }, run = function(p) copy(p.from, p.to) end } {
    from = at, to = copied }
output("result", copied)
