-- Prints the warnings of every statement that has some, asked for behind its back.

local ASKED, WARNINGS = 1, 2

function read_query(packet)
	if packet:byte() == proxy.COM_QUERY then
		proxy.queries:append(ASKED, packet, { resultset_is_needed = true })
		return proxy.PROXY_SEND_QUERY
	end
end

function read_query_result(inj)
	local set = inj.resultset
	if inj.id == ASKED then
		local is_listed = inj.query:sub(2):lower():match("^%s*show%s+warnings")
		if set.warning_count > 0 and not is_listed then
			local show = string.char(proxy.COM_QUERY) .. "SHOW WARNINGS"
			proxy.queries:append(WARNINGS, show, { resultset_is_needed = true })
		end
		return
	end
	if set.rows then
		for row in set.rows do
			print(("%s %s: %s"):format(row[1], row[2], row[3]))
		end
	end
	return proxy.PROXY_IGNORE_RESULT
end
