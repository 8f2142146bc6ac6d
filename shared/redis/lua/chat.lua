local function is_number(digits)
  return #digits <= 16 and tonumber(digits) <= 9007199254740991
end

-- The chat of a lane. The name of a command lane is the chat's key with '!', that of a desk lane the key with '!!'.
local function chat_of(lane)
  return (lane:gsub('!!?$', ''))
end

-- Whether a lane goes on during a pause. Desk lanes do, so that an operator's command in the desk lane can end the pause.
local function ignores_pauses(lane)
  return lane:sub(-2) == '!!'
end

-- Whether a text is the name of a lane. Accepts the same chat keys as parseChatKey in keys.ts.
local function is_lane(lane)
  local text = chat_of(lane)
  local id, other = text:match('^%-?(%d+)%.(%d+)$')
  if not id then
    id, other = text:match('^%-?(%d+)@%-?(%d+)$')
  end
  id = id or text:match('^%-?(%d+)$')
  return id ~= nil and is_number(id) and (other == nil or is_number(other))
end
