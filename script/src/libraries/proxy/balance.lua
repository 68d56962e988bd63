-- proxy.balance: choosing a backend that has an idle pooled connection for the client's user.
--
--   idle_failsafe_rw()   the first read-write backend that is not down and has one, else 0
--   idle_ro()            the read-only backend that is not down, has one, and has the fewest clients, else 0
--
-- The behaviour is that of release 0.8.5; no fault of it is known.
module("proxy.balance", package.seeall)

-- What scripts make of the library or of this table is nothing to the functions here.
local proxy = proxy

-- Calls `consider(index, backend)` for each of a type that is not down and has an idle connection.
local function each_idle(kind, consider)
  local backends = proxy.global.backends
  local user = proxy.connection.client.username
  for index = 1, #backends do
    local backend = backends[index]
    if backend.type == kind and backend.state ~= proxy.BACKEND_STATE_DOWN and
      backend.pool.users[user].cur_idle_connections > 0 and consider(index, backend) then
      return
    end
  end
end

function idle_failsafe_rw()
  local found = 0
  each_idle(proxy.BACKEND_TYPE_RW, function(index)
    found = index
    return true
  end)
  return found
end

function idle_ro()
  local found, fewest = 0, nil
  each_idle(proxy.BACKEND_TYPE_RO, function(index, backend)
    local clients = backend.connected_clients
    if not fewest or clients < fewest then found, fewest = index, clients end
  end)
  return found
end
