local function is_number(digits)
  return #digits <= 16 and tonumber(digits) <= 9007199254740991
end

-- Whether a text is a chat key: the same rule as parseChatKey in keys.ts.
local function is_chat(text)
  local id, topic = text:match('^%-?(%d+)%.(%d+)$')
  id = id or text:match('^%-?(%d+)$')
  return id ~= nil and is_number(id) and (topic == nil or is_number(topic))
end
