-- `proxy.connection`: the session's two sides, and the backend it is at.
--
-- What a script decides here is noted as moves, which the session carries out behind the hook: a
-- connection that goes to a pool (`park`), one that comes from there (`take`), one too many (`close`), the
-- backend at which a session gets its connections (`choose`).
local M, host = ...

local UNUSED = 0

local function socket_of(facts, is_client)
	if facts then
		facts.object = facts.object or M.socket(facts, is_client)
		return facts.object
	end
end

-- `id`: of a connection; of a choice, the backend's number.
local function note(session, what, id, backend, parked)
	session.moves[#session.moves + 1] = { what = what, id = id, backend = backend, parked = parked }
	session.is_dirty = true
end

local function user_of(session)
	return session.client and session.client.username or ""
end

-- The session's connection goes to its backend's pool.
local function leave(session)
	if not session.server then
		return
	end
	local backend = M.backends[session.server.backend]
	if backend then
		local parked = { id = session.server.id, socket = session.server }
		-- Whose login it has, whoever wants to log in now.
		local spare = M.park(backend, parked.socket.username or user_of(session), parked)
		note(session, "park", parked.id, backend, parked)
		if spare then
			note(session, "close", spare.id, backend, spare)
		end
	end
	M.set_server(session, nil)
end

M.leave = leave

-- An idle connection there becomes the session's, if there is one.
local function enter(session, backend)
	local parked = M.take(backend, user_of(session), session)
	if parked then
		leave(session)
		parked.socket.backend = backend.index
		M.set_server(session, parked.socket)
		note(session, "take", parked.id, backend, parked)
	end
end

-- The session has ended before its moves were carried out: a pool gets back what it had, and loses what
-- never came.
function M.undo_moves(session)
	local net = {}
	for _, move in ipairs(session.moves) do
		if move.parked then
			net[move.id] = (net[move.id] or 0) + (move.what == "park" and 1 or -1)
		end
	end
	for _, move in ipairs(session.moves) do
		if net[move.id] == 1 then
			M.unpark(move.id)
		elseif net[move.id] == -1 then
			M.give_back(move.backend, move.parked)
		end
		net[move.id] = nil
	end
	session.moves = {}
end

-- `backend`: as it was when the connection became the session's, whatever its number is now.
local function count(backend, change)
	if backend then
		backend.connected_clients = backend.connected_clients + change
	end
end

-- The session's connection, which its backend counts.
function M.set_server(session, server)
	local before = session.server
	-- A session that takes turns has one connection's facts at whatever backend it is.
	local is_other = not (before and server and before.id == server.id and before.backend == server.backend)
	if before and is_other then
		count(before.counted, -1)
	end
	if server and is_other then
		server.counted = M.backends[server.backend]
		count(server.counted, 1)
	elseif server then
		server.counted = before.counted
	end
	session.server = server
end

-- A session that takes turns on connections: which one it gets is the proxy's matter, at a backend of the
-- script's choice or anywhere. What it is told of that is what any of them would be.
local function turn_to(session, index, backend)
	note(session, "choose", index)
	if index == UNUSED then
		M.set_server(session, nil)
	elseif backend then
		local server = {}
		for key, value in pairs(session.any_server or {}) do
			server[key] = value
		end
		server.object, server.dst_object = nil, nil
		server.backend, server.dst = index, backend.dst
		server.src = server.src or session.client.dst
		server.default_db = session.client.default_db
		M.set_server(session, server)
	end
end

-- What any connection of the session's is like.
function M.know_server(session, server)
	session.any_server = server
	if session.server then
		server.backend, server.dst = session.server.backend, session.server.dst
		M.set_server(session, server)
	end
end

local function choose(session, value)
	local index = tonumber(value)
	if not index or index ~= math.floor(index) then
		error("proxy.connection.backend_ndx has to be an integer, is " .. tostring(value), 4)
	end
	local backend = M.backends[index]
	if session.takes_turns then
		turn_to(session, index, backend)
	elseif index == UNUSED then
		leave(session)
	elseif backend then
		enter(session, backend)
	end
	session.backend_ndx = index
end

local old = {
	default_db = "proxy.connection.client.default_db or proxy.connection.server.default_db",
	thread_id = "proxy.connection.server.thread_id",
	mysqld_version = "proxy.connection.server.mysqld_version",
}

-- What scripts of 0.5 asked the connection itself.
local function old_name(session, key)
	host.warn_once("proxy.connection." .. key .. " is an old name; use " .. old[key])
	local side = key == "default_db" and session.client or session.server
	return side and side[key]
end

local function read(session, key)
	if key == "client" then
		return socket_of(session.client, true)
	elseif key == "server" then
		return socket_of(session.server, false)
	elseif key == "backend_ndx" then
		return session.backend_ndx
	elseif old[key] then
		return old_name(session, key)
	elseif key == "server_version" then
		return session.server and session.server.mysqld_version
	end
end

local function write(session, key, value)
	if key == "backend_ndx" then
		choose(session, value)
	elseif key == "connection_close" then
		if type(value) ~= "boolean" then
			error("proxy.connection.connection_close has to be a boolean", 3)
		end
		session.wants_close, session.is_dirty = value, true
	else
		error("proxy.connection." .. tostring(key) .. " is not writable", 3)
	end
end

function M.connection(session)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__index = function(_, key)
		return read(session, key)
	end
	meta.__newindex = function(_, key, value)
		write(session, key, value)
	end
	return object
end
