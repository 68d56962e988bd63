-- `proxy.queries`: what the script wants to be sent, in order.
local M, host = ...

-- The errors of luaL_check*, at the script's line.
local function bad(level, at, method, expected, value)
	local found = value == nil and "no value" or type(value)
	error(string.format("bad argument #%d to '%s' (%s expected, got %s)", at, method, expected, found), level + 1)
end

local function text_of(value)
	if type(value) == "number" then
		return tostring(value)
	end
	return type(value) == "string" and value or nil
end

-- An entry of the queue. Times are counted from here on.
local function entry(session, method, id, packet, options)
	local number = tonumber(id)
	if not number or type(id) == "table" then
		bad(3, 1, method, "number", id)
	end
	local text = text_of(packet)
	if not text then
		bad(3, 2, method, "string", packet)
	end
	if options ~= nil and type(options) ~= "table" then
		bad(3, 3, method, "table", options)
	end
	local wanted = options and options.resultset_is_needed
	if wanted ~= nil and type(wanted) ~= "boolean" then
		error(
			string.format("bad argument #3 to '%s' (resultset_is_needed is a boolean, is %s)", method, type(wanted)),
			3
		)
	end
	if wanted == nil then
		wanted = M.buffers_always
	end
	local route = options and options.route
	if route ~= nil and not session.takes_turns then
		error(string.format("bad argument #3 to '%s' (route is for sessions that take turns on connections)", method), 3)
	end
	local hint, problem = M.hint_of(route)
	if problem then
		error(string.format("bad argument #3 to '%s' (%s)", method, problem), 3)
	end
	local whole = number < 0 and math.ceil(number) or math.floor(number)
	return { id = whole, packet = text, is_needed = wanted, route = hint, at = host.now() }
end

function M.queries(session)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	local methods = {}

	function methods.append(_, id, packet, options)
		local queue = session.queue
		queue[#queue + 1] = entry(session, "append", id, packet, options)
		session.is_dirty = true
	end

	function methods.prepend(_, id, packet, options)
		table.insert(session.queue, 1, entry(session, "prepend", id, packet, options))
		session.is_dirty = true
	end

	function methods.reset()
		session.queue = {}
	end

	function methods.len()
		return #session.queue
	end

	methods.__len = methods.len
	meta.__index = methods
	meta.__len = methods.len
	meta.__newindex = function(_, key)
		error("proxy.queries." .. tostring(key) .. " is not writable", 2)
	end
	return object
end
