-- `pilotfish.route`: where a command goes.
local M, host = ...

local KEYS = { "role", "cluster", "backend", "timeout", "lag_max", "consistency", "tag" }
local DURATIONS = { timeout = true, lag_max = true }
local known = {}
for _, key in ipairs(KEYS) do
	known[key] = true
end

local function item_of(key, value)
	if not known[key] then
		return nil, string.format("%s is no part of a place; it has %s", tostring(key), table.concat(KEYS, ", "))
	elseif DURATIONS[key] and type(value) == "number" and value >= 0 and value < 1e9 then
		return string.format("%s=%dms", key, value * 1000)
	elseif type(value) ~= "string" or value == "" or string.find(value, "[,%c\"'`]") then
		return nil, string.format("%s cannot be %s", key, type(value) == "string" and string.format("%q", value) or tostring(value))
	end
	return key .. "=" .. value
end

local function table_of(place)
	if type(place) == "number" then
		local backend = M.backends[place]
		if not backend then
			return nil, "there is no backend " .. place
		end
		return { backend = backend.name }
	elseif type(place) == "string" then
		return { backend = place }
	elseif type(place) ~= "table" then
		return nil, "a place is a table, or a backend's name or number, not a " .. type(place)
	end
	return place
end

-- What a place says as a hint: `{ role = "replica", cluster = "shop" }`, a backend's name or number; nil for
-- none. Or nil, and what is wrong with it.
function M.hint_of(place)
	if place == nil then
		return nil
	end
	local parts, problem = table_of(place)
	local items = {}
	for key, value in pairs(parts or {}) do
		items[#items + 1], problem = item_of(key, value)
		if problem then
			break
		end
	end
	local hint = table.concat(items, ", ")
	if problem then
		return nil, problem
	elseif not host.is_hint(hint) then
		return nil, string.format("%q is not understood", hint)
	end
	return hint ~= "" and hint or nil
end

-- Where the command goes that the hook is for, and what is sent instead of it.
local function route(place)
	local session = M.current()
	if not session then
		error("pilotfish.route: there is no command that could go anywhere", 2)
	elseif not session.takes_turns then
		error(
			"pilotfish.route: this session has one connection for all; set proxy.connection.backend_ndx in connect_server",
			2
		)
	end
	local hint, problem = M.hint_of(place)
	if problem then
		error("pilotfish.route: " .. problem, 2)
	end
	session.route, session.is_dirty = hint or "", true
end
M.route = route
