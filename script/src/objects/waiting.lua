-- Hooks that may wait run in a coroutine, which the next one uses again. What they wait for is a wish that
-- they yield; the proxy fulfils it, while other sessions' hooks run, and resumes them.
local M, host = ...

local resume, yield, create, running = coroutine.resume, coroutine.yield, coroutine.create, coroutine.running

-- What a coroutine of ours yields.
local DONE, WISH = {}, {}

local function serve(hook, ...)
	return serve(yield(DONE, hook(...)))
end

local is_ours = setmetatable({}, { __mode = "k" })
local idle, idle_count = {}, 0

local function take_runner()
	if idle_count > 0 then
		idle_count = idle_count - 1
		return idle[idle_count + 1]
	end
	local runner = create(serve)
	is_ours[runner] = true
	return runner
end

local function put_back(runner)
	idle_count = idle_count + 1
	idle[idle_count] = runner
end

local STRAY = "attempt to yield from outside a coroutine"

local function settle(session, runner, ran, what, ...)
	if what == DONE then
		put_back(runner)
		return false, ...
	elseif what == WISH then
		session.runner, session.wish = runner, { ... }
		return true
	end
	error(ran and STRAY or what, 0)
end

-- Calls a hook: whether it waits, else what it has returned.
function M.run(session, hook, ...)
	local runner = take_runner()
	return settle(session, runner, resume(runner, hook, ...))
end

-- What it has waited for is there.
function M.run_on(session, ...)
	local runner = session.runner
	session.runner, session.wish = nil, nil
	return settle(session, runner, resume(runner, ...))
end

local function pass_on(runner, ran, what, ...)
	if what == DONE then
		put_back(runner)
		return true, ...
	elseif what == WISH and not is_ours[running()] then
		-- Whoever resumes this coroutine is no hook.
		return false, STRAY
	elseif what == WISH then
		return pass_on(runner, resume(runner, yield(WISH, ...)))
	end
	return false, ran and STRAY or what
end

-- As `pcall`, but what is called may wait.
function M.protected(run, ...)
	local runner = take_runner()
	return pass_on(runner, resume(runner, run, ...))
end

-- The wish of a function of `pilotfish` of this name; what comes of it.
function M.wait(name, ...)
	local runner = running()
	if not (M.may_wait and runner and is_ours[runner]) then
		error(
			("pilotfish.%s: only read_query and read_query_result can wait, and not in a coroutine of their own"):format(
				name
			),
			3
		)
	end
	return yield(WISH, ...)
end
