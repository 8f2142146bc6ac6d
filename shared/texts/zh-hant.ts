import type { Texts } from './texts.ts';

/** Every text that a user reads besides answers, in Traditional Chinese. */
export const ZH_HANT: Texts = {
  languageName: '繁體中文',

  freshSession:
    '我們的對話已經超出模型的容量，所以我帶著一份簡短摘要開始新的對話。輸入 /recall 加上關鍵字可以找回說過的內容，/export 會把全部內容傳給你。',
  freshAfterPoison:
    '模型不再接受我們的對話，所以我帶著一份簡短摘要開始新的對話。輸入 /recall 加上關鍵字可以找回說過的內容，/export 會把全部內容傳給你。',
  bareAfterPoison:
    '模型不再接受我們的對話，所以我開始新的對話，不帶入先前的內容。內容都還保留著：輸入 /recall 加上關鍵字可以搜尋，/export 會把全部內容傳給你。',
  compacted: (messages) =>
    `為了騰出空間，最早的 ${messages} 則訊息我改用摘要來記。輸入 /recall 加上關鍵字可以找回內容，/export 會把全部內容傳給你。`,
  scrubbed: '你的訊息對模型來說太長，我只讀了開頭和結尾。',
  removed: (names, hasMore) =>
    `模型無法讀取全部內容，所以我略過了 ${names.join('、')}${hasMore ? ' 等' : ''}。其餘部分我會回答。/export 會把保留的內容全部傳給你。`,

  endlessThought: '我無法在限制內想完這則訊息。請分成較小的步驟來問。你可以繼續在這裡輸入。',
  waiting: '目前無法連上模型。你的訊息已經保留，正在等待，不需要再傳一次。',
  repeat: '↻ 傳送這則訊息時連線中斷，所以它可能是重複的：',
  gaveUp: '我無法回答這則訊息：即使在新的對話裡，它對模型來說還是太長。請分成幾段傳送。你可以繼續在這裡輸入。',
  notTaken: '我無法回答這則訊息：即使在新的對話裡，模型也不接受它。已經通知管理者。你可以繼續在這裡輸入。',
  unreadable: '我無法讀取這則訊息。已經通知管理者。請再傳一次。',
  fileAway: '我無法從 Telegram 取得你的檔案。已經通知管理者。請過幾分鐘再傳一次。',
  unavailable: '目前無法從模型取得回答。已經通知管理者。請過幾分鐘再試一次。',
  misconfigured: '我目前無法回答。已經通知管理者。',
  chatBudget: '這個聊天室今天的額度已經用完，會在 UTC 午夜重新開始。',
  totalBudget: '我今天的額度已經用完，會在 UTC 午夜重新開始。',
  declined: '模型拒絕回答這則訊息。你可以繼續傳別的訊息。',
  nothingToAdd: '完成了，沒有要補充的。',
  cutAnswer: '［回答已達長度上限。請要我繼續。］',
  laneFull: (count) =>
    `等待中的訊息太多，所以${count === 1 ? '這一則' : `其中 ${count} 則`}我沒有收下。等我處理完後請再傳一次。`,
  unsupportedKind: (what) => `我還無法讀取這種訊息（${what}）。我可以讀文字、照片、PDF 和文字檔。`,
  unreadableFile: (why, name) => `我無法讀取${name ? `檔案「${name}」` : '這個檔案'}：${why}`,
  fileProblem: {
    empty: '它是空的。',
    other_kind: '我只能讀圖片、PDF 和 UTF-8 文字檔。',
    picture_format: '我不認得這種圖片格式。請以照片傳送，或使用 JPEG 或 PNG。',
    broken_picture: '圖片已損壞。請再傳一次。',
    huge_picture: '圖片的像素太多。請傳小一點的圖片。',
    broken_pdf: 'PDF 已損壞。請重新儲存後再傳。',
    locked_pdf: 'PDF 有密碼保護。請傳沒有密碼的檔案。',
    too_many_pages: 'PDF 頁數太多。請只傳需要的頁面。',
    too_slow: '開啟它需要太久。請傳簡單一點的檔案。',
    too_large: '它大於 20 MB。請傳小一點的檔案。',
    not_downloaded: '無法從 Telegram 下載。請再傳一次。',
  },

  newConversation: '新的對話從這裡開始。先前的對話會保留。',
  notPermitted: '在群組裡，只有允許名單上的人可以這麼做。',
  stoppedHere: '⏹ 已在此停止。',
  stopped: '已停止。在這之前的訊息我不會再回答。',
  nothingToStop: '沒有可以停止的工作。',
  help: '傳訊息給我，我就會回答。\n/stop 停止我正在做的和還在等待的。\n/new 也會停止，並開始新的對話；先前的對話會保留。\n/help 顯示這段說明。',
  menu: {
    stop: '停止正在做的和還在等待的',
    new: '同樣停止，並開始新的對話',
    help: '說明我能做什麼',
  },
};
