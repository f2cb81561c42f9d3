// Browsers start no worker for a page that is a file. The search of the site then runs in a hidden frame:
// this stands in for Worker, with the part of its interface that the search uses.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.onmessage = this.onerror = this.onmessageerror = null
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.receive = event => {
        if (event.source !== this.frame.contentWindow) return
        const copy = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(copy)
        if (this.onmessage) this.onmessage(copy)
      }
      window.addEventListener("message", this.receive)
      this.frame.addEventListener("load", () => this.start(address), { once: true })
      this.frame.srcdoc = "<!doctype html><title>search</title>"
      document.body.append(this.frame)
    }
    start(address) {
      const inside = this.frame.contentWindow
      inside.postMessage = data => window.postMessage.call(window, data, "*")
      // In a worker, self.postMessage answers; from outside the same name asks.
      this.ask = data => inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      inside.postMessage = data => {
        const copy = new MessageEvent("message", { data })
        this.dispatchEvent(copy)
        if (this.onmessage) this.onmessage(copy)
      }
      const program = inside.document.createElement("script")
      program.src = new URL(address, location.href)
      program.onload = () => { const all = this.waiting; this.waiting = null; all.forEach(each => this.ask(each)) }
      program.onerror = () => this.onerror && this.onerror(new ErrorEvent("error"))
      inside.document.body.append(program)
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.ask(data)
    }
    terminate() {
      window.removeEventListener("message", this.receive)
      this.frame.remove()
    }
  }
}
