-- Commands of a shell for clients of a database:
--
--   ls [SCHEMA]    SHOW TABLES [FROM SCHEMA]
--   who            SHOW PROCESSLIST
--   cd SCHEMA      USE SCHEMA

local function quoted(name)
	return "`" .. name:gsub("`", "``") .. "`"
end

local rewrites = {
	ls = function(name)
		return name and "SHOW TABLES FROM " .. quoted(name) or "SHOW TABLES"
	end,
	who = function(name)
		return not name and "SHOW PROCESSLIST"
	end,
}

local function send(packet)
	proxy.queries:append(1, packet)
	return proxy.PROXY_SEND_QUERY
end

function read_query(packet)
	if packet:byte() ~= proxy.COM_QUERY then
		return
	end
	local word, name = packet:sub(2):match("^%s*(%a+)%s*(.-)%s*;?%s*$")
	name = name ~= "" and name or nil
	word = word and word:lower()
	if word == "cd" and name then
		return send(string.char(proxy.COM_INIT_DB) .. name)
	end
	local text = rewrites[word] and rewrites[word](name)
	if text then
		return send(string.char(proxy.COM_QUERY) .. text)
	end
end
