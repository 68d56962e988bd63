-- `pilotfish.every`, `pilotfish.after`: functions that run by the clock, for no session.
local M, host = ...

local TIMERS_MAX = 1000

local timers, count = {}, 0

-- One timer of a name: a body that runs for every session sets it but once, and the last function runs.
local function set(kind, name, seconds, run)
	local function bad(text)
		error(string.format("pilotfish.%s: %s", kind, text), 3)
	end
	local number = tonumber(seconds)
	if type(name) ~= "string" then
		bad("a timer's name is a string, not a " .. type(name))
	elseif not number or number ~= number or number < 0.001 or number > 31536000 then
		bad("seconds have to be a number from 0.001 to 31536000, is " .. tostring(seconds))
	elseif type(run) ~= "function" then
		bad("what is to run is a function, not a " .. type(run))
	end
	local known = timers[name]
	if known and known.kind == kind and known.seconds == number then
		known.run = run
		return
	elseif not known then
		if count >= TIMERS_MAX then
			bad(string.format("there are %d timers, and no more than that", TIMERS_MAX))
		end
		count = count + 1
	end
	timers[name] = { kind = kind, seconds = number, run = run, due = host.now() + number * 1e6 }
	host.timers_changed()
end

function M.every(name, seconds, run)
	set("every", name, seconds, run)
end

function M.after(name, seconds, run)
	set("after", name, seconds, run)
end

function M.cancel(name)
	if timers[name] then
		timers[name], count = nil, count - 1
	end
end

local function next_timer()
	local first
	for name, timer in pairs(timers) do
		if not first or timer.due < timers[first].due then
			first = name
		end
	end
	return first
end

-- Microseconds until the next is due; nil where there is none.
function M.time_to_timer()
	local name = next_timer()
	return name and math.max(timers[name].due - host.now(), 0)
end

-- Runs the next that is due. One that has missed its time goes on from now.
function M.run_timer()
	local name = next_timer()
	local timer = name and timers[name]
	if not timer or timer.due > host.now() then
		return
	end
	if timer.kind == "after" then
		M.cancel(name)
	else
		timer.due = host.now() + timer.seconds * 1e6
	end
	M.leave_session()
	timer.run()
end
