-- proxy.commands: what a client's packet says.
--
--   parse(packet)       {type, type_name} and, by the command: query, stmt_handler_id, table, schema, option
--   pretty_print(cmd)   "[COM_QUERY] SELECT 1" and the like; "[COM_X] ... no idea" where nothing is known
--
-- The behaviour is that of release 0.8.5, with one difference: pretty_print of a command without a name
-- says its number where the original raised an error.
module("proxy.commands", package.seeall)

-- What scripts make of the library or of this table is nothing to the functions here.
local byte, sub, tostring = string.byte, string.sub, tostring

-- By number, from 0 on; the last two in the original's order.
local NAMES = {
  [0] = "COM_SLEEP", "COM_QUIT", "COM_INIT_DB", "COM_QUERY", "COM_FIELD_LIST", "COM_CREATE_DB", "COM_DROP_DB",
  "COM_REFRESH", "COM_SHUTDOWN", "COM_STATISTICS", "COM_PROCESS_INFO", "COM_CONNECT", "COM_PROCESS_KILL",
  "COM_DEBUG", "COM_PING", "COM_TIME", "COM_DELAYED_INSERT", "COM_CHANGE_USER", "COM_BINLOG_DUMP",
  "COM_TABLE_DUMP", "COM_CONNECT_OUT", "COM_REGISTER_SLAVE", "COM_STMT_PREPARE", "COM_STMT_EXECUTE",
  "COM_STMT_SEND_LONG_DATA", "COM_STMT_CLOSE", "COM_STMT_RESET", "COM_SET_OPTION", "COM_STMT_FETCH",
  "COM_DAEMON", "COM_BINLOG_DUMP",
}

-- Little-endian, behind the command's byte; nil where the packet is too short.
local function number(packet, bytes)
  if #packet < 1 + bytes then return nil end
  local value = 0
  for i = bytes, 1, -1 do value = value * 256 + byte(packet, 1 + i) end
  return value
end

local function rest(packet) return sub(packet, 2) end
local function id(packet) return number(packet, 4) end

-- The key that a command's argument gets, and how it is read.
local ARGUMENTS = {
  COM_QUERY = { "query", rest },
  COM_STMT_PREPARE = { "query", rest },
  COM_STMT_EXECUTE = { "stmt_handler_id", id },
  COM_STMT_CLOSE = { "stmt_handler_id", id },
  COM_FIELD_LIST = { "table", rest },
  COM_INIT_DB = { "schema", rest },
  COM_CREATE_DB = { "schema", rest },
  COM_DROP_DB = { "schema", rest },
  COM_SET_OPTION = { "option", rest },
}

local WITHOUT = {
  COM_QUIT = true, COM_PING = true, COM_SHUTDOWN = true, COM_STATISTICS = true, COM_PROCESS_INFO = true,
}

function parse(packet)
  local kind = byte(packet)
  local command = { type = kind, type_name = NAMES[kind] }
  local argument = ARGUMENTS[command.type_name]
  if argument then
    command[argument[1]] = argument[2](packet)
  elseif not WITHOUT[command.type_name] then
    print("[debug] (command) unhandled type name:" .. tostring(command.type_name))
  end
  return command
end

function pretty_print(command)
  local name = command.type_name or tostring(command.type)
  local argument = ARGUMENTS[name]
  if argument then
    return "[" .. name .. "] " .. tostring(command[argument[1]])
  elseif WITHOUT[name] then
    return "[" .. name .. "]"
  end
  return "[" .. name .. "] ... no idea"
end
