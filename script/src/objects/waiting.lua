-- Hooks that may wait run in a coroutine, which the next one uses again: the proxy resumes it with a function
-- of `M` and what that takes, and gets what that returns. What a hook waits for is a wish; the proxy fulfils
-- it, while other sessions' hooks run, and resumes the coroutine.
local M, host = ...

local resume, yield, create, running = coroutine.resume, coroutine.yield, coroutine.create, coroutine.running

local is_ours = setmetatable({}, { __mode = "k" })

local function make(serve)
	local runner = create(serve)
	is_ours[runner] = true
	return runner
end

local function serve(run, ...)
	return serve(yield(run(...)))
end

-- A coroutine for hooks.
function M.runner()
	return make(serve)
end

local STRAY = "attempt to yield from outside a coroutine"

-- What our coroutines yield is the proxy's to read.
function _G.coroutine.yield(...)
	if is_ours[running()] then
		error(STRAY, 0)
	end
	return yield(...)
end

-- What a call that is protected has ended with.
local DONE = {}

local function serve_protected(run, ...)
	return serve_protected(yield(DONE, run(...)))
end

local idle = {}

-- It does not go on; what it has said is not said.
function M.give_up(session)
	session.wish = nil
	session.route, session.rows, session.queue = nil, nil, {}
	M.forget_reply(session)
end

local function pass_on(runner, ran, what, ...)
	if what == DONE then
		idle[#idle + 1] = runner
		return true, ...
	elseif not ran then
		return false, what
	elseif not is_ours[running()] then
		-- Whoever resumes this coroutine is no hook.
		return false, STRAY
	end
	return pass_on(runner, resume(runner, yield(what, ...)))
end

-- As `pcall`, but what is called may wait.
function M.protected(run, ...)
	local runner = table.remove(idle) or make(serve_protected)
	return pass_on(runner, resume(runner, run, ...))
end

-- The wish of a function of `pilotfish` of this name; what comes of it.
function M.wait(name, ...)
	if not (M.may_wait() and is_ours[running()]) then
		error(
			string.format("pilotfish.%s: only read_query and read_query_result can wait, and not in a coroutine of their own", name
			),
			3
		)
	end
	local session, is_of_query = M.current(), M.may_rewrite()
	session.wish = { ... }
	return M.go_on(session, is_of_query, yield(M.outcome_of(session, nil, true)))
end
