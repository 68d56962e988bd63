-- Sessions and their hooks. Every function here is called by the proxy, which holds the interpreter's
-- lock meanwhile: one hook runs at a time.
local M, host = ...

-- What a script prints is seen at once. Nobody types what it could read: that would hold all sessions.
io.stdout:setvbuf("line")
_G.io.stdin = assert(io.open("/dev/null"))
io.input(_G.io.stdin)

-- Nor does anybody close it, as Lua closes none of the standard files.
local stdin, files = _G.io.stdin, getmetatable(_G.io.stdin).__index
local close_default, close_file = io.close, files.close

local function closed(ok, ...)
	if not ok then
		error(string.gsub((...), "'%?'", "'close'", 1), 3)
	end
	return ...
end

function files.close(...)
	if (...) == stdin then
		return nil, "cannot close standard file"
	end
	return closed(pcall(close_file, ...))
end

function _G.io.close(...)
	if (...) == stdin then
		return nil, "cannot close standard file"
	end
	return closed(pcall(close_default, ...))
end

-- `proxy.X` is the session's own X, unless it is a constant or `global`.
local proxy_meta = { __metatable = false }
setmetatable(proxy, proxy_meta)

-- The session whose hook runs, and which hooks of it may what.
local current
local NOTHING, WAITING, REWRITING = 0, 1, 2
local allowed = NOTHING

function M.current()
	return current
end

function M.may_wait()
	return allowed >= WAITING
end

function M.may_rewrite()
	return allowed >= REWRITING
end

local function switch_to(session)
	if current ~= session then
		current = session
		local locals = session.locals
		proxy_meta.__index, proxy_meta.__newindex = locals, locals
	end
	allowed = NOTHING
end

-- `proxy.response` is a table that is there as soon as somebody looks.
local locals_meta = {
	__index = function(locals, key)
		if key == "response" then
			local response = {}
			locals.response = response
			return response
		end
	end,
	__newindex = function(locals, key, value)
		rawset(locals, key, value)
		if current then
			current.is_dirty = true
		end
	end,
	-- It is all sessions'.
	__metatable = false,
}

-- A client has come. The script's body runs once for it, in an environment of its own.
function M.begin(id, client, takes_turns)
	M.put_back()
	local session =
		{ id = id, client = client, takes_turns = takes_turns, backend_ndx = 0, queue = {}, moves = {} }
	session.locals = setmetatable({ queries = M.queries(session), connection = M.connection(session) }, locals_meta)
	return session
end

-- A script's globals. A hook that is defined later is noticed: the proxy calls those only that are there.
function M.environment_of(session, file, is_one_of_several)
	switch_to(session)
	local environment = setmetatable({ __proxy = session.locals }, {
		__index = _G,
		__newindex = function(environment, key, value)
			rawset(environment, key, value)
			if host.hooks[key] then
				session.has_changed, session.is_dirty = true, true
			end
		end,
	})
	if is_one_of_several then
		M.link(session, environment, file)
	else
		session.environment = environment
	end
	return environment
end

local globals, metatable = _G, host.metatable

-- What an environment has, or has from those that it inherits from. A metatable of `_G` is not asked: it may
-- forbid to look for what is not there.
function M.find(environment, name)
	while true do
		local value = rawget(environment, name)
		if value ~= nil or environment == globals then
			return value
		end
		local meta = metatable(environment)
		local index = meta and rawget(meta, "__index")
		if type(index) ~= "table" then
			return index and environment[name]
		end
		environment = index
	end
end

local find = M.find

local function hook_of(session, name)
	local hook = find(session.environment, name)
	if type(hook) == "function" then
		return hook
	elseif hook ~= nil then
		host.log("message", name .. " is a " .. type(hook) .. " and no function: ignored")
	end
end

-- Which hooks there are now.
function M.find_hooks(session)
	session.has_changed = false
	local found = {}
	for name in pairs(host.hooks) do
		found[name] = hook_of(session, name) ~= nil
	end
	return found
end

-- The same behind a hook that has failed.
function M.recover(session)
	M.put_back()
	return M.find_hooks(session)
end

-- Numbers and numeric strings are decisions, all else is none.
local function decision_of(value)
	local kind = type(value)
	local number = (kind == "number" or kind == "string") and tonumber(value)
	if not number or number ~= number then
		return 0
	end
	return number < 0 and math.ceil(number) or math.floor(number)
end

-- What a hook has decided, how much is queued, and what else the proxy has to look at.
local HAS_MOVED, HAS_CHANGED, WANTS_CLOSE, WAITS, HAS_ROUTE, HAS_ROWS = 1, 2, 4, 8, 16, 32

function M.outcome_of(session, value, waits)
	local flags = waits and WAITS or 0
	if #session.moves > 0 then
		flags = flags + HAS_MOVED
	end
	if session.has_changed then
		flags = flags + HAS_CHANGED
	end
	if session.wants_close then
		flags = flags + WANTS_CLOSE
	end
	if session.route then
		flags = flags + HAS_ROUTE
	end
	if session.rows then
		flags = flags + HAS_ROWS
	end
	return decision_of(value), #session.queue, flags
end

local outcome_of = M.outcome_of

-- A hook that cannot wait.
function M.call(session, name, ...)
	switch_to(session)
	local hook = hook_of(session, name)
	local arguments = M.arguments[name]
	if hook and arguments then
		return outcome_of(session, hook(arguments(session)))
	end
	return outcome_of(session, hook and hook(...))
end

-- Whatever the last command has left is forgotten; what a hook has said that has failed is not said.
local function tidy(session)
	if #session.queue > 0 then
		session.queue = {}
	end
	session.locals.response = nil
	session.route, session.rows = nil, nil
	-- Who wants to go still does behind the next command.
	session.is_dirty = session.wants_close
end

-- A command has come. Returns nothing where nothing is wanted.
-- Each statement comes through here: what is not needed to know that is not done.
function M.read_query(session, packet)
	if current ~= session then
		switch_to(session)
	end
	if session.is_dirty then
		tidy(session)
	end
	allowed = REWRITING
	local hook = session.environment.read_query
	if hook ~= session.known_hook then
		hook = hook_of(session, "read_query")
		session.known_hook = hook or false
	end
	if not hook then
		return
	end
	local value = hook(packet)
	if value ~= nil or session.is_dirty then
		return outcome_of(session, value)
	end
end

-- The next of the queue; it is what the next reply answers.
function M.next_query(session)
	local entry = table.remove(session.queue, 1)
	session.sent = entry
	if entry then
		return entry.packet, entry.is_needed, entry.route
	end
end

function M.read_query_result(session, ...)
	switch_to(session)
	local hook = hook_of(session, "read_query_result")
	if not hook then
		return
	end
	local injection = M.injection(session, ...)
	allowed = WAITING
	local value = hook(injection)
	M.forget_reply(session)
	return outcome_of(session, value)
end

-- A hook that waits goes on with what follows, which has come of its wish.
function M.go_on(session, is_of_query, ...)
	switch_to(session)
	allowed = is_of_query and REWRITING or WAITING
	return ...
end

function M.take_moves(session)
	local moves = session.moves
	if #moves > 0 then
		session.moves = {}
		return moves
	end
end

-- What runs from here on is the session's, and cannot wait.
M.enter_session = switch_to

-- From here on nobody's hook runs.
function M.leave_session()
	current, proxy_meta.__index, proxy_meta.__newindex = nil, nil, nil
	allowed = NOTHING
end

function M.forget(session)
	if current == session then
		M.leave_session()
	end
	M.undo_moves(session)
	M.set_server(session, nil)
	session.environment = nil
end
