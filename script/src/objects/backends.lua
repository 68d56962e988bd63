-- `proxy.global.backends`: the backends with their pools. One list for all sessions of an interpreter.
--
-- What these objects do is the same for all sessions: no script gets at their metatables.
--
-- A connection in a pool is `{ id, socket }`: the worker keeps the connection itself under that id, and
-- only its own sessions can have it. So each worker has pools of its own; another's ids mean nothing there.
local M, host = ...

local UNKNOWN, UP, DOWN = 0, 1, 2
local AGAIN_US, LOOK_US = 4000000, 1000000

M.backends = {}

-- The proxy need not ask for those that are down by a script's word while there are none.
local function count_out()
	local count = 0
	for _, backend in ipairs(M.backends) do
		if backend.is_out then
			count = count + 1
		end
	end
	host.set_out(count)
end

-- Their numbers.
function M.out()
	local out = {}
	for index, backend in ipairs(M.backends) do
		if backend.is_out then
			out[#out + 1] = index
		end
	end
	return out
end

-- The queues of this worker's pool by their users.
local function users_of(backend)
	local users = backend.users[M.worker]
	if not users then
		users = {}
		backend.users[M.worker] = users
	end
	return users
end

-- A user's own queue; while nobody knows the user, any that has more than the minimum. Unlike in MySQL
-- Proxy a user without a queue finds no other's: the connections there are logged in.
local function queue_of(backend, name)
	local users = users_of(backend)
	if name ~= "" then
		return users[name]
	end
	for _, any in pairs(users) do
		if #any > backend.min_idle_connections then
			return any
		end
	end
end

-- A connection is for those alone who have agreed on the same as its login, once that is known.
local function suits(parked, session)
	local kind = session and session.client and session.client.kind
	return not kind or parked.socket.kind == kind
end

-- To a session that takes turns on connections, each that the proxy may have is one that it can get.
local function idle(backend, name)
	local session = M.current()
	if session and session.takes_turns then
		return backend.connections_max
	end
	local count = 0
	for _, parked in ipairs(queue_of(backend, name) or {}) do
		if suits(parked, session) then
			count = count + 1
		end
	end
	return count
end

-- The first that is idle here for this user's session; it is that one's from then on.
function M.take(backend, name, session)
	local queue = queue_of(backend, name) or {}
	for at, parked in ipairs(queue) do
		if suits(parked, session) then
			return table.remove(queue, at)
		end
	end
end

-- A connection for whoever comes next; beyond the pool's limit, if it has one, the oldest is closed.
function M.park(backend, name, parked)
	local users = users_of(backend)
	local queue = users[name] or {}
	users[name] = queue
	queue[#queue + 1] = parked
	local max = backend.max_idle_connections
	if max > 0 and #queue > max then
		return table.remove(queue, 1)
	end
end

-- A connection that nobody has taken after all.
function M.give_back(backend, parked)
	local users, name = users_of(backend), parked.socket.username or ""
	users[name] = users[name] or {}
	table.insert(users[name], 1, parked)
end

-- A connection that has ended by itself.
function M.unpark(id)
	for _, backend in ipairs(M.backends) do
		for _, queue in pairs(users_of(backend)) do
			for at, parked in ipairs(queue) do
				if parked.id == id then
					table.remove(queue, at)
					return
				end
			end
		end
	end
end

local function queue_object(backend, name)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__index = function(_, key)
		if key == "cur_idle_connections" then
			return idle(backend, tostring(name))
		end
	end
	return object
end

local function users_object(backend)
	local object = host.newproxy(true)
	getmetatable(object).__index = function(_, name)
		return queue_object(backend, name)
	end
	return object
end

local limits = { max_idle_connections = true, min_idle_connections = true }

local function pool_object(backend)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__index = function(_, key)
		if limits[key] then
			return backend[key]
		end
		if key == "users" then
			return users_object(backend)
		end
	end
	meta.__newindex = function(_, key, value)
		local number = limits[key] and tonumber(value)
		if not number then
			error("proxy.backend[...]." .. tostring(key) .. " is not writable", 2)
		end
		backend[key] = math.floor(number)
	end
	meta.__metatable = false
	return object
end

local readable = { type = true, connected_clients = true, uuid = true }

local function read(backend, key)
	if readable[key] then
		return backend[key]
	end
	if key == "state" then
		return backend.state
	end
	if key == "dst" then
		backend.dst_object = backend.dst_object or M.address(backend.dst)
		return backend.dst_object
	end
	if key == "pool" then
		backend.pool_object = backend.pool_object or pool_object(backend)
		return backend.pool_object
	end
	if key == "address" then
		host.warn_once("proxy.global.backends[...].address is an old name; use .dst.name")
		return backend.dst.name
	end
end

local function write(backend, key, value)
	if key == "state" then
		local state = tonumber(value)
		if state ~= UNKNOWN and state ~= UP and state ~= DOWN then
			error("proxy.global.backends[...].state is one of proxy.BACKEND_STATE_*", 3)
		end
		-- Since when it is so is the proxy's to say: what is down by a script's word is tried again soon.
		backend.state, backend.is_out = state, state == DOWN
		count_out()
	elseif key == "uuid" then
		if value ~= nil and type(value) ~= "string" then
			error("proxy.global.backends[...].uuid has to be a string", 3)
		end
		backend.uuid = value
	else
		error("proxy.global.backends[...]." .. tostring(key) .. " is not writable", 3)
	end
end

local function object_of(backend)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__index = function(_, key)
		return read(backend, key)
	end
	meta.__newindex = function(_, key, value)
		write(backend, key, value)
	end
	meta.__metatable = false
	return object
end

function M.set_state(backend, state)
	backend.state = state
	backend.since = host.now()
	if backend.is_out then
		backend.is_out = false
		count_out()
	end
end

-- What the proxy knows of its backends now: { name, dst, type, state, connections_max } each, in their
-- order. What scripts have set stays with a backend as long as it is there.
function M.take_up(list)
	local known = {}
	for _, backend in ipairs(M.backends) do
		known[backend.name] = backend
	end
	local backends = {}
	for index, facts in ipairs(list) do
		local backend = known[facts.name]
			or {
				connected_clients = 0,
				max_idle_connections = 0,
				min_idle_connections = 0,
				state = UNKNOWN,
				since = host.now(),
				users = {},
			}
		backend.index, backend.dst, backend.type = index, facts.dst, facts.type
		backend.dst_object = nil
		backend.name, backend.connections_max = facts.name, facts.connections_max
		backend.connected_clients = facts.sessions or backend.connected_clients
		if facts.state ~= backend.seen then
			backend.seen = facts.state
			M.set_state(backend, facts.state)
		end
		backend.object = backend.object or object_of(backend)
		backends[index] = backend
	end
	M.backends = backends
	count_out()
end

-- What is down may be tried again after four seconds; looked at once a second.
local looked = 0
function M.look_again()
	local now = host.now()
	if now - looked < LOOK_US then
		return
	end
	looked = now
	for _, backend in ipairs(M.backends) do
		if backend.state == DOWN and now - backend.since > AGAIN_US then
			M.set_state(backend, UNKNOWN)
		end
	end
end

-- The backend of a session for which the script has chosen none: read-write, and the least used.
function M.default_backend()
	local best
	for _, backend in ipairs(M.backends) do
		if backend.type == 1 and backend.state ~= DOWN then
			if not best or backend.connected_clients < best.connected_clients then
				best = backend
			end
		end
	end
	return best and best.index or 0
end

function M.backends_object()
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__len = function()
		return #M.backends
	end
	meta.__index = function(_, key)
		local index = tonumber(key)
		if not index then
			error(string.format("bad argument #2 to '?' (number expected, got %s)", type(key)), 2)
		end
		local backend = M.backends[index]
		return backend and backend.object
	end
	meta.__newindex = function()
		error("proxy.global.backends is not writable", 2)
	end
	meta.__metatable = false
	return object
end
