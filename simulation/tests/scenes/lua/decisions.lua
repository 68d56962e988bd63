-- Decides by the text of a statement what becomes of it.

local COM_QUERY = string.char(proxy.COM_QUERY)
local needed = { resultset_is_needed = true }

local function answer(value)
	proxy.response = {
		type = proxy.MYSQLD_PACKET_OK,
		resultset = {
			fields = { { name = "answer", type = proxy.MYSQL_TYPE_STRING } },
			rows = { { value } },
		},
	}
	return proxy.PROXY_SEND_RESULT
end

local decisions = {
	["SELECT answer"] = function() return answer("the script") end,
	["SELECT refusal"] = function()
		proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "not here", errcode = 4711, sqlstate = "42000" }
		return proxy.PROXY_SEND_RESULT
	end,
	["SELECT one"] = function()
		proxy.queries:append(1, COM_QUERY .. "SELECT 'two'")
		return proxy.PROXY_SEND_QUERY
	end,
	["SELECT around"] = function()
		proxy.queries:append(1, COM_QUERY .. "SET @before = 'set'", needed)
		proxy.queries:append(2, COM_QUERY .. "SELECT @before")
		proxy.queries:append(3, COM_QUERY .. "SELECT 'behind'", needed)
		return proxy.PROXY_SEND_QUERY
	end,
	["SELECT sum"] = function()
		proxy.queries:append(20, COM_QUERY .. "SELECT 20", needed)
		return proxy.PROXY_SEND_QUERY
	end,
	["SELECT replaced"] = function()
		proxy.queries:append(5, COM_QUERY .. "SELECT nothing", needed)
		return proxy.PROXY_SEND_QUERY
	end,
	["SELECT 'fault'"] = function() error("a mistake") end,
}

function read_query(packet)
	if packet:byte() ~= proxy.COM_QUERY then return end
	local decide = decisions[packet:sub(2)]
	if decide then return decide() end
end

function read_query_result(inj)
	if inj.id == 1 or inj.id == 3 then
		-- Of three the client gets the second one's result; of one, that.
		if inj.query:sub(2) == "SELECT 'two'" then return end
		return proxy.PROXY_IGNORE_RESULT
	end
	if inj.id == 5 and inj.resultset.query_status == proxy.MYSQLD_PACKET_ERR then
		return answer("in place of an error")
	end
	if inj.id >= 20 then
		for row in inj.resultset.rows do
			local value = tonumber(row[1])
			if value < 22 then
				proxy.queries:append(inj.id + 1, COM_QUERY .. "SELECT " .. (value + 1), needed)
				return proxy.PROXY_IGNORE_RESULT
			end
		end
	end
end
