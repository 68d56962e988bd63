-- Sessions and their hooks. Every function here is called by the proxy, which holds the interpreter's
-- lock meanwhile: one hook runs at a time.
local M, host = ...

-- What a script prints is seen at once.
io.stdout:setvbuf("line")

-- `proxy.X` is the session's own X, unless it is a constant or `global`.
local proxy_meta = {}
setmetatable(proxy, proxy_meta)

local current
local run = M.run

local function switch_to(session)
	if current ~= session then
		current, M.current = session, session
		proxy_meta.__index, proxy_meta.__newindex = session.locals, session.locals
	end
end

-- A table that is there as soon as somebody looks.
local locals_meta = {
	__index = function(locals, key)
		if key == "response" then
			local response = {}
			rawset(locals, key, response)
			return response
		end
	end,
}

-- A client has come. The script's body runs once for it, in an environment of its own.
function M.begin(id, client, takes_turns)
	local session =
		{ id = id, client = client, takes_turns = takes_turns, backend_ndx = 0, queue = {}, moves = {} }
	session.locals = setmetatable({ queries = M.queries(session), connection = M.connection(session) }, locals_meta)
	return session
end

-- A script's globals. A hook that is defined later is noticed: the proxy calls those only that are there.
function M.environment_of(session, file, is_one_of_several)
	switch_to(session)
	M.may_wait, M.may_rewrite = false, false
	local environment = setmetatable({ __proxy = session.locals }, {
		__index = _G,
		__newindex = function(environment, key, value)
			rawset(environment, key, value)
			if host.hooks[key] then
				session.has_changed, session.has_news = true, true
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

local function hook_of(session, name)
	local hook = session.environment[name]
	if type(hook) == "function" then
		return hook
	elseif hook ~= nil then
		host.log("message", name .. " is a " .. type(hook) .. " and no function: ignored")
	end
end

-- Which hooks there are now.
function M.look(session)
	session.has_changed = false
	local found = {}
	for name in pairs(host.hooks) do
		found[name] = hook_of(session, name) ~= nil
	end
	return found
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

local function outcome_of(session, value, waits)
	local flags = waits and WAITS or 0
	-- Who wants to go still does behind the next command.
	session.has_news = session.wants_close
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

-- A hook that cannot wait.
function M.call(session, name, ...)
	switch_to(session)
	M.may_wait, M.may_rewrite = false, false
	local hook = hook_of(session, name)
	local arguments = M.arguments[name]
	if hook and arguments then
		return outcome_of(session, hook(arguments(session)))
	end
	return outcome_of(session, hook and hook(...))
end

-- A command has come: whatever the last one left is forgotten. Returns nothing where nothing is wanted.
-- Each statement comes through here: what is not needed to know that is not done.
function M.read_query(session, packet)
	if current ~= session then
		switch_to(session)
	end
	if session.is_queued then
		session.queue, session.is_queued = {}, false
	end
	session.locals.response = nil
	if session.has_news then
		-- What a hook has said that has failed is not said.
		session.route, session.rows, session.has_news = nil, nil, session.wants_close
	end
	M.may_wait, M.may_rewrite = true, true
	local hook = session.environment.read_query
	if not hook or hook ~= session.known_hook then
		hook = hook_of(session, "read_query")
		session.known_hook = hook
		if not hook then
			return
		end
	end
	local waits, value = run(session, hook, packet)
	if value == nil and not (waits or session.is_queued or session.has_news) then
		return
	end
	return outcome_of(session, value, waits)
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
	M.may_wait, M.may_rewrite = true, false
	local hook = hook_of(session, "read_query_result")
	if not hook then
		return
	end
	local waits, value = run(session, hook, M.injection(session, ...))
	if not waits then
		M.forget_reply(session)
	end
	return outcome_of(session, value, waits)
end

-- A hook that waits goes on with what has come of its wish.
function M.resume(session, is_of_query, ...)
	switch_to(session)
	M.may_wait, M.may_rewrite = true, is_of_query
	local waits, value = M.run_on(session, ...)
	if not waits then
		M.forget_reply(session)
	end
	return outcome_of(session, value, waits)
end

function M.take_moves(session)
	local moves = session.moves
	if #moves > 0 then
		session.moves = {}
		return moves
	end
end

M.enter_session = switch_to

-- From here on nobody's hook runs.
function M.leave_session()
	current, M.current, proxy_meta.__index, proxy_meta.__newindex = nil, nil, nil, nil
end

function M.forget(session)
	if current == session then
		M.leave_session()
	end
	M.set_server(session, nil)
	session.environment, session.runner = nil, nil
end
