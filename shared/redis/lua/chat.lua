local function is_number(digits)
  return #digits <= 16 and tonumber(digits) <= 9007199254740991
end

-- The chat of a lane: a command lane has a mark behind it, and a desk lane two. See keys.ts.
local function chat_of(lane)
  return (lane:gsub('!!?$', ''))
end

-- Whether a lane runs while its chat, or every chat, is paused: else nobody could resume it from the chat of alerts.
local function knows_no_pause(lane)
  return lane:sub(-2) == '!!'
end

-- Whether a text names a lane, by the rule of parseChatKey in keys.ts.
local function is_lane(lane)
  local text = chat_of(lane)
  local id, other = text:match('^%-?(%d+)%.(%d+)$')
  if not id then
    id, other = text:match('^%-?(%d+)@%-?(%d+)$')
  end
  id = id or text:match('^%-?(%d+)$')
  return id ~= nil and is_number(id) and (other == nil or is_number(other))
end
