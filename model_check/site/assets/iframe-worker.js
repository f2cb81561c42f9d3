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
      this.frame.srcdoc = "<!doctype html><title>search</title>"
      this.frame.addEventListener("load", () => this.start(address), { once: true })
      document.body.append(this.frame)
    }
    start(address) {
      const inside = this.frame.contentWindow
      // As for a worker: what crosses the border is copied into the world of the other side, and comes later.
      inside.postMessage = data => setTimeout(() => this.answer(structuredClone(data)))
      this.ask = data =>
        setTimeout(() => inside.onmessage(new inside.MessageEvent("message", { data: inside.structuredClone(data) })))
      const program = inside.document.createElement("script")
      program.src = new URL(address, location.href)
      program.onload = () => {
        const earlier = this.waiting
        this.waiting = null
        earlier.forEach(each => this.ask(each))
      }
      program.onerror = () => this.onerror && this.onerror(new ErrorEvent("error"))
      inside.document.body.append(program)
    }
    answer(data) {
      const event = new MessageEvent("message", { data })
      this.dispatchEvent(event)
      if (this.onmessage) this.onmessage(event)
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.ask(data)
    }
    terminate() {
      this.frame.remove()
    }
  }
}
