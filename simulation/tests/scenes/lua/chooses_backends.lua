-- `/* N */` in front of a statement sends it to backend N.

function read_query(packet)
	local index = packet:match("^\003/%* (%d) %*/")
	if index then proxy.connection.backend_ndx = tonumber(index) end
end
