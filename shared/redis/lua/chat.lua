local function is_number(digits)
  return #digits <= 16 and tonumber(digits) <= 9007199254740991
end

-- The chat of a lane. The name of a command lane ends with '!', that of a desk lane with '!!': see keys.ts.
local function chat_of(lane)
  return (lane:gsub('!!?$', ''))
end

-- Whether pauses do not stop a lane. They do not stop desk lanes, so that an operator's command there can end a pause.
local function ignores_pauses(lane)
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
