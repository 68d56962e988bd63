-- What `xpcall` calls instead of a script's handler of errors. It is a chunk of its own: no script sees its calls.
local tools = ...
local is_spent, text, type = tools.is_spent, tools.text, type

return function(handler)
  return function(message)
    -- Behind an error of the hook no hook runs until it is caught: no handler of a script's may.
    if is_spent() then return message end
    if type(message) == "userdata" then message = text(message) end
    -- No tail call: Lua would note that a function is gone.
    local told = handler(message)
    return told
  end
end
